import { expect, test } from 'vitest';
import type { Draft } from '../../../../schemas/event.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { modelGatewayLogic } from '../../../../services/model-gateway/decide.ts';
import { sandboxExecutorLogic } from '../../../../services/sandbox-executor/decide.ts';
import { toolGuardLogic } from '../../../../services/tool-guard/decide.ts';
import { toolRunnerLogic } from '../../../../services/tool-runner/decide.ts';
import { createWorkerPoolLogic } from '../../../../services/worker-pool/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  answered,
  completed,
  eventsOf,
  modelAgent,
  newest,
  openWork,
  procedure,
  schedule,
} from '../../../support/work-fixtures.ts';

/**
 * The end of an agent wipes what it worked with, while its session goes on: its conversation, its input, what its tools said,
 * and the sandbox that it was lent. What the sandbox itself held goes with each call (quickjs.test.ts: "leaves nothing").
 */

const marks = ['input-7f3a', 'words-7f3a', 'code-7f3a', 'value-7f3a'] as const;
const [input, words, code, value] = marks;
const names = ['worker-pool:general', 'tool-guard', 'tool-runner', 'sandbox-executor'] as const;

function begin(): BenchSession {
  const bench = new BenchSession([
    { logic: createWorkerPoolLogic('general') },
    { logic: toolGuardLogic },
    { logic: toolRunnerLogic },
    { logic: sandboxExecutorLogic, facts: () => ({ facts: { isolation: 'wasm-quickjs' } }) },
    {
      logic: modelGatewayLogic,
      facts: () => ({ facts: { providers: ['scripted'] } as JsonObject }),
    },
  ]);
  const writer = modelAgent({ form: 2, tools: ['sum'], prompt: '="Sum up " & input.path' });
  openWork(bench, { agents: [writer, procedure({ form: 2 })] });
  schedule(bench, 'writer', { input: { path: input } });
  schedule(bench, 'reader');
  bench.settle();
  return bench;
}

function tell(bench: BenchSession, outcome: Draft): void {
  bench.input(outcome as Draft<'tool.completed'>);
  bench.settle();
}

function work(bench: BenchSession): void {
  const calls = [{ id: 'one', name: 'sum', arguments: { path: code } }];
  tell(bench, answered(newest(bench.events, 'model.claimed'), { text: words, calls }));
  const claimed = newest(bench.events, 'tool.claimed');
  expect(claimed.data.tool).toBe('sum');
  tell(bench, completed(claimed, { value }, 'exited'));
}

const held = (bench: BenchSession): readonly string[] => {
  const states = [...names, 'model-gateway'].map((name) => JSON.stringify(bench.state(name)));
  return marks.filter((mark) => states.some((state) => state.includes(mark)));
};

const sandboxesOf = (bench: BenchSession, type: 'sandbox.leased' | 'sandbox.released') =>
  eventsOf(bench.events, type).map(({ data }) => data.sandbox);

function expectWiped(bench: BenchSession): void {
  expect(held(bench)).toEqual([]);
  expect(sandboxesOf(bench, 'sandbox.released')).toEqual(sandboxesOf(bench, 'sandbox.leased'));
  expect(bench.state('sandbox-executor')).toMatchObject({ leases: {}, claims: { calls: {} } });
  expect(eventsOf(bench.events, 'agent.cleaned-up').map(({ data }) => data.agent)).toEqual([
    'writer.1',
  ]);
}

test('nothing of an agent that completed is left with anybody', () => {
  const bench = begin();
  work(bench);
  expect(held(bench)).toEqual(marks);
  tell(bench, answered(newest(bench.events, 'model.claimed'), { text: 'Done.' }));
  expectWiped(bench);
});
