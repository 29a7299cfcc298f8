import { beforeEach, expect, test } from 'vitest';
import type { SeenEvent } from '../../../../schemas/event.ts';
import { addressOf } from '../../../../services/chassis/protocol/service-logic.ts';
import {
  callOf,
  mayRun,
  type SandboxExecutorState,
  sandboxExecutorLogic,
  sandboxId,
} from '../../../../services/sandbox-executor/decide.ts';
import { toolGuardLogic } from '../../../../services/tool-guard/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  completed,
  eventsOf,
  failedCall,
  newest,
  openWork,
  procedure,
  toolRequested,
} from '../../../support/work-fixtures.ts';

let bench: BenchSession;

beforeEach(() => {
  const facts = () => ({ facts: { isolation: 'wasm-quickjs' } });
  bench = new BenchSession([{ logic: toolGuardLogic }, { logic: sandboxExecutorLogic, facts }]);
  openWork(bench, { agents: [procedure({ tools: ['read', 'run', 'sum'] })] });
});

const state = (): SandboxExecutorState => bench.state('sandbox-executor');

function ask(call: string, name = 'run'): SeenEvent[] {
  bench.append([toolRequested(call, { tool: name })], 'worker-pool:general');
  return bench.settle();
}

function lose(call: string): SeenEvent[] {
  const claim = newest(bench.events, 'tool.claimed');
  const { attempt, deadlineAtMs } = claim.data;
  bench.openCalls = {
    [call]: {
      ...{ status: 'claimed', service: 'sandbox-executor', claim: addressOf(claim) },
      ...{ incarnation: 'inc_test', attempt, deadlineAtMs },
    },
  };
  bench.lost = { [call]: 'runner-gone' };
  return bench.settle();
}

const claim = () => newest(bench.events, 'tool.claimed');
const leases = () => eventsOf(bench.events, 'sandbox.leased').map((one) => one.data.sandbox);
const releases = () => eventsOf(bench.events, 'sandbox.released').map((one) => one.data);

test('a claim lends a sandbox in the same turn, and says how it is isolated', () => {
  const [, claimed, leased] = ask('call_1');
  expect(claimed?.type).toBe('tool.claimed');
  expect(leased?.record).toBe(claimed?.record);
  const sandbox = sandboxId('call_1', 1);
  expect(leased?.data).toEqual({ sandbox, call: 'call_1', isolation: 'wasm-quickjs' });
  expect(sandbox).toMatch(/^sbx_[0-9a-f]{32}$/);
  expect(callOf(state(), 'call_1')).toMatchObject({ effect: 'at-most-once', attempt: 1 });
  expect(mayRun(state(), 'call_1')).toBe(true);
});

test('calls for other runners get no sandbox', () => {
  expect(bench.typesOf(ask('call_1', 'read'))).toEqual(['tool.permitted']);
});

test.each([
  ['exited', 'exited'],
  ['killed', 'killed'],
  ['0', 'unknown'],
  [undefined, 'unknown'],
])('an outcome with exit %s releases the sandbox as %s, once', (said, exit) => {
  ask('call_1');
  bench.input(completed(claim(), 42, said));
  const [released, ...more] = bench.settle();
  expect(released?.data).toEqual({ sandbox: sandboxId('call_1', 1), call: 'call_1', exit });
  expect(more).toEqual([]);
});

test('a failed call releases its sandbox', () => {
  ask('call_1');
  bench.input(failedCall(claim(), { exit: 'killed', class: 'limit', retryable: false }));
  bench.settle();
  expect(releases()).toMatchObject([{ exit: 'killed' }]);
});

test('two equal calls have a sandbox each', () => {
  ask('call_1');
  ask('call_2');
  expect(new Set(leases()).size).toBe(2);
});

test('a lost call that may run again changes its sandbox', () => {
  ask('call_1', 'sum');
  const again = lose('call_1');
  expect(bench.typesOf(again)).toEqual(['tool.claimed', 'sandbox.leased', 'sandbox.released']);
  expect(new Set(again.map((one) => one.record)).size).toBe(1);
  expect(releases()).toEqual([
    { sandbox: sandboxId('call_1', 1), call: 'call_1', exit: 'unknown' },
  ]);
  bench.input(completed(claim(), 1, 'exited'));
  bench.settle();
  expect(releases().at(-1)).toEqual({
    sandbox: sandboxId('call_1', 2),
    call: 'call_1',
    exit: 'exited',
  });
});

test('an answer to the first claim releases the sandbox of the second as unknown', () => {
  ask('call_1', 'sum');
  const first = claim();
  lose('call_1');
  bench.input(completed(first, 1, 'exited'));
  bench.settle();
  expect(releases()).toMatchObject([
    { sandbox: sandboxId('call_1', 1), exit: 'unknown' },
    { sandbox: sandboxId('call_1', 2), exit: 'unknown' },
  ]);
});

test('a call that became unknown gives its sandbox back in the same turn', () => {
  ask('call_1');
  expect(bench.typesOf(lose('call_1'))).toEqual(['tool.unknown', 'sandbox.released']);
  bench.input(completed(claim(), 1, 'exited'));
  expect(bench.settle()).toEqual([]);
});

// Simulation, seed 500063: it kept its session open for ever.
test('a lease that was on its way when its call ended is given back', () => {
  ask('call_1', 'sum');
  const first = claim();
  bench.openCalls = {
    call_1: {
      ...{ status: 'claimed', service: 'sandbox-executor', claim: addressOf(first) },
      ...{ incarnation: 'inc_test', attempt: 1, deadlineAtMs: 1 },
    },
  };
  bench.lost = { call_1: 'deadline' };
  const again = bench.propose('sandbox-executor');
  bench.input(completed(first, 1, 'exited'));
  bench.openCalls = {};
  bench.append(again, 'sandbox-executor');
  expect(mayRun(state(), 'call_1')).toBe(false);
  // The call is settled: nobody will say anything more of this claim.
  expect(bench.typesOf(bench.settle())).toEqual(['sandbox.released']);
  expect(state()).toMatchObject({ claims: { calls: {} }, leases: {} });
  expect(new Set(releases().map((one) => one.sandbox)).size).toBe(2);
});
