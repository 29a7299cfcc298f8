import { beforeAll, describe, expect, test } from 'vitest';
import { retryPoint } from '../../../../replay-tools/fork/retry-point.ts';
import type { Happening, History } from '../../../../replay-tools/read/history.ts';
import { receiptsOf } from '../../../../replay-tools/receipts/receipts.ts';
import { timelineLines } from '../../../../replay-tools/show/timeline.ts';
import { eventIn, ForkDesk } from '../../../support/live-forks.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';

/** Forks whose models are live and whose tools are answered: by the record or by mocks, and never run. */

let world: MemoryWorld;
let desk: ForkDesk;
let asked: History;
let failed: History;
/** What the model wants said; the record was made with `hello`. */
let wish = 'hello';

const model: FakeModel = ({ messages }) => {
  const answers = messages.filter(({ role }) => role === 'tool');
  const last = answers.at(-1);
  if (last?.role !== 'tool')
    return { text: '', calls: [{ name: 'test.echo', arguments: { said: wish } }] };
  return { text: `Heard ${JSON.stringify(last.result)}` };
};

const toolsRun = (): number =>
  world.started.filter(({ service }) => service !== 'model-gateway').length;
const modelsAsked = (): number =>
  world.started.filter(({ service }) => service === 'model-gateway').length;

beforeAll(async () => {
  const tools = { 'test.flaky': () => ({ failure: { message: 'Not today.' } }) };
  world = await MemoryWorld.start({ seed: 3, model, tools });
  desk = new ForkDesk(world);
  const one = world.publishGoal({ goal: 'Ask.', plan: 'ask' });
  const other = world.publishGoal({ goal: 'Try.', plan: 'flaky', inputs: { name: 'x' } });
  if (!(await world.runUntilDone())) throw new Error('the goals did not come to their end');
  await world.clock.run(5_000);
  asked = await desk.historyOf(one.session);
  failed = await desk.historyOf(other.session);
});

/** The first answer of the model: what came after it, the tool call for one, is decided anew. */
const point = (): Happening => eventIn(asked, 'model.completed');

const contentOf = (history: History, type: string, name: string): unknown =>
  (eventIn(history, type).event.content as Record<string, { body?: unknown }>)[name]?.body;

describe('with the record', () => {
  let forked: History;
  let before: number;
  let models: number;

  beforeAll(async () => {
    [before, models] = [toolsRun(), modelsAsked()];
    forked = await desk.ended(await desk.fork(asked, point(), { tools: { from: 'record' } }));
  });

  test('models are asked, the tool has its recorded answer, and no tool is run', () => {
    expect(toolsRun()).toBe(before);
    expect(modelsAsked()).toBeGreaterThan(models);
    const types = forked.entries.map(({ event }) => event.type);
    expect(types).toEqual(
      expect.arrayContaining(['tool.permitted', 'tool.claimed', 'session.completed']),
    );
    const was = contentOf(asked, 'tool.completed', 'result');
    expect(contentOf(forked, 'tool.completed', 'result')).toEqual(was);
  });

  test('says so wherever people look, and every decision is decided the same again', async () => {
    expect(timelineLines(forked.judged).join('\n')).toContain(
      'with live models; the record answers',
    );
    const tool = receiptsOf(forked).receipts.find(({ kind }) => kind === 'tool');
    expect(tool?.outcomes).toMatchObject([{ ended: 'completed', isolation: 'record' }]);
    expect(await desk.verified(forked.session)).toMatchObject({ identical: true, complete: true });
  });

  test('a call that the record does not have is told so, and still not run', async () => {
    wish = 'something else';
    const other = await desk.ended(await desk.fork(asked, point(), { tools: { from: 'record' } }));
    wish = 'hello';
    expect(eventIn(other, 'tool.failed').event.data).toMatchObject({ code: 'NOT_ANSWERED' });
    expect(toolsRun()).toBe(before);
    const { event } = eventIn(other, 'session.completed');
    expect(event.type).toBe('session.completed');
  });

  test('a fork of it whose tools are live runs them again', async () => {
    const again = await desk.ended(await desk.fork(forked, eventIn(forked, 'model.completed')));
    expect(again.entries.map(({ event }) => event.type)).toContain('session.completed');
    expect(toolsRun()).toBe(before + 1);
    expect(await desk.verified(again.session)).toMatchObject({ identical: true, complete: true });
  });
});

describe('with mocks', () => {
  test('the mock answers first, failures too, also for another agent of the task', async () => {
    const before = toolsRun();
    const mocks = [
      { tool: 'test.echo', agent: 'ask', arguments: { said: 'hello' }, result: { mocked: true } },
    ];
    const answers = { from: 'mock', mocks } as const;
    const forked = await desk.ended(await desk.fork(asked, point(), { tools: answers }));
    expect(contentOf(forked, 'tool.completed', 'result')).toEqual({ mocked: true });
    expect(JSON.stringify(contentOf(forked, 'model.completed', 'message'))).toContain('hello');
    const failure = { code: 'SAYS_NO', message: 'It is a mock.' };
    const refusing = { from: 'mock', mocks: [{ tool: 'test.echo', failure }] } as const;
    const refused = await desk.ended(await desk.fork(asked, point(), { tools: refusing }));
    expect(eventIn(refused, 'tool.failed').event.data).toMatchObject({
      code: 'SAYS_NO',
      isolation: 'mock',
    });
    expect(toolsRun()).toBe(before);
  });

  test('a retry of a failed session goes on to its end, its sandbox answered too', async () => {
    const before = toolsRun();
    const mocks = [
      { tool: 'test.flaky', result: { name: 'fixed' } },
      { tool: 'sandbox.run', result: { value: 6 } },
    ];
    const tools = { from: 'mock', mocks } as const;
    const retried = await desk.ended(await desk.fork(failed, retryPoint(failed), { tools }));
    expect(retried.entries.map(({ event }) => event.type)).toContain('session.completed');
    expect(toolsRun()).toBe(before);
    expect(await desk.verified(retried.session)).toMatchObject({ identical: true, complete: true });
  });

  test('who takes the host over goes on with the same answers', async () => {
    const before = toolsRun();
    const mocks = [
      { tool: 'test.flaky', failure: { code: 'AGAIN', message: 'No.', retryable: true } },
    ];
    const session = await desk.fork(failed, retryPoint(failed), { tools: { from: 'mock', mocks } });
    await world.clock.run(50);
    world.crash('host-1');
    await world.startHost('host-2', ['all']);
    const retried = await desk.ended(session);
    expect(retried.entries.map(({ event }) => event.type)).toContain('session.failed');
    expect(toolsRun()).toBe(before);
    expect(await desk.verified(session)).toMatchObject({ identical: true });
  });
});

describe('inputs', () => {
  test('may be changed where no task has got them yet, and not later', async () => {
    const settings = [{ what: 'input', name: 'question', value: 'What is old?' }] as const;
    const forked = await desk.ended(
      await desk.fork(asked, eventIn(asked, 'task.scheduled'), { settings }),
    );
    expect(JSON.stringify(contentOf(forked, 'task.scheduled', 'input'))).toContain('What is old?');
    expect(await desk.verified(forked.session)).toMatchObject({ identical: true, complete: true });
    await expect(desk.fork(asked, point(), { settings })).rejects.toMatchObject({
      code: 'FORK_NOT_LIVE',
      message: expect.stringContaining('comes too late'),
    });
  });
});

describe('what would reach the world by another way', () => {
  const tools = { from: 'record' } as const;
  const refused = (history: History, at: Happening) =>
    desk.fork(history, at, { tools }).then(
      () => 'nothing',
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );

  test('is refused, and nothing is written', async () => {
    const { session } = world.publishGoal({ goal: 'Look.', plan: 'batch-classifier' });
    await world.clock.run(5_000);
    const wide = await desk.historyOf(session);
    const before = world.records().length;
    const [planned] = asked.ofRecord(eventIn(asked, 'plan.accepted').event.record);
    expect(await refused(asked, planned as Happening)).toMatch(
      /^FORK_NOT_LIVE: .*no plan is settled/,
    );
    const later = wide.entries.find(
      ({ event, offset }) => event.index === 0 && offset > eventIn(wide, 'plan.accepted').offset,
    );
    expect(await refused(wide, later as Happening)).toMatch(
      /^FORK_NOT_LIVE: task .* child sessions/,
    );
    expect(world.records().length).toBe(before);
  });
});
