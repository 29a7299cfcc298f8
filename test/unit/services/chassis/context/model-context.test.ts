import { beforeEach, describe, expect, test } from 'vitest';
import { type DataOf, event, json, type SeenEvent } from '../../../../../schemas/event.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import type { ModelMessage } from '../../../../../services/chassis/context/messages.ts';
import {
  contextAt,
  contextOfCall,
  contextsOf,
} from '../../../../../services/chassis/context/model-context.ts';
import { modelGatewayLogic, requestOf } from '../../../../../services/model-gateway/decide.ts';
import { BenchSession } from '../../../../support/bench-session.ts';
import {
  answered,
  failedModel,
  modelAgent,
  newest,
  openWork,
  toolRequested,
  tools,
} from '../../../../support/work-fixtures.ts';

let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([
    { logic: modelGatewayLogic, facts: () => ({ facts: { providers: ['scripted'] } }) },
  ]);
  openWork(bench, { agents: [modelAgent()] });
});

const user = (said: string): ModelMessage => ({ role: 'user', text: said });
const read = (id: string) => ({ id, name: 'read', arguments: { path: `${id}.txt` } });
const result = (id: string): ModelMessage => {
  const head = { role: 'tool', toolCallId: id, toolName: 'read' } as const;
  return { ...head, result: `text of ${id}`, isError: false };
};
const said = (text: string, ...ids: string[]): ModelMessage => ({
  ...{ role: 'assistant', text, toolCalls: ids.map(read) },
});

type More = Partial<DataOf<'model.requested'>> & { note?: string };

function request(call: string, step: number, messages: readonly ModelMessage[], more: More = {}) {
  const { note, ...changes } = more;
  const data: DataOf<'model.requested'> = {
    ...{ call, agent: 'writer.1', task: 'writer', attempt: 1, step, agentName: 'writer' },
    ...{ model: 'scripted/demo', outputTokensMax: 500, timeoutMs: 30_000, tools: ['read'] },
    ...changes,
  };
  const content = { messages: json(messages as unknown as JsonValue) };
  const noted = note === undefined ? content : { ...content, note: json(note) };
  bench.append([event('model.requested', data, noted)], 'worker-pool:general');
  bench.settle();
}

const answer = (text: string, ...ids: string[]): SeenEvent =>
  bench.input(
    answered(newest(bench.events, 'model.claimed'), { text, calls: ids.map((id) => read(id)) }),
  );

/** What the gateway would send now; it must be what the log shows of the call. */
function sent(call: string): readonly ModelMessage[] {
  const asked = requestOf(bench.state('model-gateway'), call);
  const shown = contextOfCall(bench.events, call);
  expect(asked?.messages).toEqual(shown?.messages);
  expect(asked?.tools).toEqual(shown?.tools);
  return shown?.messages ?? [];
}

/** Three steps of which each read one file. */
function threeSteps(): void {
  request('call_1', 1, [user('Read.')]);
  answer('', 'a');
  request('call_2', 2, [result('a')]);
  answer('', 'b');
  request('call_3', 3, [result('b')]);
  answer('', 'c');
}

describe('the context of a call', () => {
  test('is all that was said before it, and nothing that came later', () => {
    threeSteps();
    request('call_4', 4, [result('c')]);
    answer('Done.');
    expect(contextOfCall(bench.events, 'call_2')?.messages).toEqual([
      ...[user('Read.'), said('', 'a'), result('a')],
    ]);
    expect(contextOfCall(bench.events, 'call_4')).toMatchObject({
      ...{ agent: 'writer.1', agentName: 'writer', step: 4, purpose: 'answer', omitted: [] },
      ...{ model: 'scripted/demo', outputTokensMax: 500 },
      tools: [{ name: 'read', inputSchema: tools.read.inputSchema }],
    });
    expect(contextOfCall(bench.events, 'call_9')).toBeUndefined();
  });

  test('of a call that is made again holds what is new once', () => {
    request('call_1', 1, [user('Read.')]);
    bench.input(failedModel(newest(bench.events, 'model.claimed')));
    request('call_2', 1, [user('Read.')]);
    expect(sent('call_2')).toEqual([user('Read.')]);
  });

  test('leaves out the steps that it names, for good, and says what stands for them', () => {
    threeSteps();
    request('call_4', 4, [result('c')], { omit: [1], note: 'Step 1 was left out.' });
    expect(sent('call_4')).toEqual([
      ...[user('Read.'), user('Step 1 was left out.'), said('', 'b'), result('b')],
      ...[said('', 'c'), result('c')],
    ]);
    answer('', 'd');
    request('call_5', 5, [result('d')], { omit: [2, 3], note: 'Steps 1 to 3 were left out.' });
    expect(sent('call_5')).toEqual([
      ...[user('Read.'), user('Steps 1 to 3 were left out.'), said('', 'd'), result('d')],
    ]);
    expect(contextOfCall(bench.events, 'call_5')?.omitted).toEqual([1, 2, 3]);
    expect(contextOfCall(bench.events, 'call_4')?.omitted).toEqual([1]);
  });

  test('that names the same steps again after a failure is the same', () => {
    threeSteps();
    const changes = { omit: [1, 2], note: 'Left out.' };
    request('call_4', 4, [result('c')], changes);
    const first = sent('call_4');
    bench.input(failedModel(newest(bench.events, 'model.claimed')));
    request('call_5', 4, [result('c')], changes);
    expect(sent('call_5')).toEqual(first);
    answer('', 'd');
    request('call_6', 5, [result('d')]);
    expect(sent('call_6')).toEqual([...first, said('', 'd'), result('d')]);
  });

  test('of a summary is about the conversation and does not become part of it', () => {
    threeSteps();
    const asked: ModelMessage = { role: 'system', text: 'Sum up.' };
    request('call_s', 4, [asked], { summarises: [1, 2], tools: [] });
    expect(sent('call_s')).toEqual([
      asked,
      user(
        [
          ...['Step 1', 'Call of read: {"path":"a.txt"}', 'Result of read: text of a'],
          ...['Step 2', 'Call of read: {"path":"b.txt"}', 'Result of read: text of b'],
        ].join('\n\n'),
      ),
    ]);
    answer('Two files were read.');
    request('call_4', 4, [result('c')], { omit: [1, 2], note: 'Two files were read.' });
    expect(sent('call_4')).toEqual([
      ...[user('Read.'), user('Two files were read.'), said('', 'c'), result('c')],
    ]);
    const purposes = contextsOf(bench.events).map(({ purpose }) => purpose);
    expect(purposes).toEqual(['answer', 'answer', 'answer', 'summary', 'answer']);
  });

  test('of a later summary holds the note of the one before', () => {
    threeSteps();
    request('call_4', 4, [result('c')], { omit: [1, 2], note: 'Two files were read.' });
    answer('', 'd');
    request('call_s', 5, [], { summarises: [3] });
    expect(sent('call_s').map((message) => ('text' in message ? message.text : ''))).toEqual([
      'Two files were read.\n\nStep 3\n\nCall of read: {"path":"c.txt"}\n\nResult of read: text of c',
    ]);
  });

  test('of a further attempt goes on with that of the attempt before', () => {
    threeSteps();
    const changes = { agent: 'writer.2', attempt: 2, resumes: 'writer.1' };
    request('call_4', 4, [result('c')], changes);
    expect(sent('call_4')).toHaveLength(7);
  });
});

describe('the context at an event', () => {
  test('is the newest of the agent that it is about', () => {
    threeSteps();
    const [called] = bench.append(
      [toolRequested('tool_1', { agent: 'writer.1', step: 3 })],
      'worker-pool:general',
    );
    const completed = bench.input(answered('call_3', {}));
    for (const seen of [called, completed]) {
      expect(contextAt(bench.events, seen as SeenEvent)?.call).toBe('call_3');
    }
  });

  test('is none where no agent has asked yet, and where the event is not there', () => {
    threeSteps();
    const [opened] = bench.events;
    expect(contextAt(bench.events, opened as SeenEvent)).toBeUndefined();
    expect(contextAt(bench.events, { record: 'none', index: 0 })).toBeUndefined();
  });
});
