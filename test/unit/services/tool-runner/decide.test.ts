import { beforeEach, describe, expect, test } from 'vitest';
import { event, type SeenEvent, text } from '../../../../schemas/event.ts';
import type { LostReason } from '../../../../services/chassis/protocol/service-logic.ts';
import { addressOf } from '../../../../services/chassis/protocol/service-logic.ts';
import { toolGuardLogic } from '../../../../services/tool-guard/decide.ts';
import {
  callOf,
  mayRun,
  type ToolRunnerState,
  toolRunnerLogic,
} from '../../../../services/tool-runner/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  completed,
  eventsOf,
  failedCall,
  newest,
  openWork,
  procedure,
  toolRequested,
  tools,
} from '../../../support/work-fixtures.ts';

let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([{ logic: toolGuardLogic }, { logic: toolRunnerLogic }]);
  openWork(bench, { agents: [procedure({ tools: ['read', 'write', 'put', 'run'] })] });
});

const state = (): ToolRunnerState => bench.state('tool-runner');

function ask(call: string, name = 'read'): SeenEvent[] {
  bench.append([toolRequested(call, { tool: name })], 'worker-pool:general');
  return bench.settle();
}

/** Says that nobody runs the newest claim of the call. */
function lose(call: string, why: LostReason = 'runner-gone'): SeenEvent[] {
  const claims = eventsOf(bench.events, 'tool.claimed').filter((one) => one.data.call === call);
  const claim = claims.at(-1);
  if (claim === undefined) throw new Error(`${call} was not claimed`);
  const { attempt, deadlineAtMs } = claim.data;
  bench.openCalls = {
    [call]: {
      ...{ status: 'claimed', service: 'tool-runner', claim: addressOf(claim) },
      ...{ incarnation: 'inc_test', attempt, deadlineAtMs },
    },
  };
  bench.lost = { [call]: why };
  return bench.settle();
}

const endSession = () => {
  bench.append([event('session.failed', { code: 'X' }, { message: text('x') })], 'supervisor');
};

describe('a permitted call', () => {
  test('is claimed once, with its deadline', () => {
    const [permitted, claimed, ...more] = ask('call_1');
    expect(permitted?.type).toBe('tool.permitted');
    expect(claimed?.data).toEqual({
      call: 'call_1',
      tool: 'read',
      attempt: 1,
      deadlineAtMs: bench.nowMs + 5_000,
    });
    expect(more).toEqual([]);
  });

  test('of an MCP server is claimed, one for the sandbox is not', () => {
    expect(bench.typesOf(ask('call_1', 'put'))).toEqual(['tool.permitted', 'tool.claimed']);
    expect(bench.typesOf(ask('call_2', 'run'))).toEqual(['tool.permitted']);
  });

  test('equal to another is claimed on its own', () => {
    ask('call_1');
    ask('call_2');
    expect(eventsOf(bench.events, 'tool.claimed').map((one) => one.data.call)).toEqual([
      'call_1',
      'call_2',
    ]);
  });

  test('tells the effect what to run', () => {
    ask('call_1', 'put');
    expect(callOf(state(), 'call_1')).toEqual({
      definition: tools.put,
      arguments: { path: 'a.txt' },
      effect: 'idempotent',
      attempt: 1,
    });
    expect(mayRun(state(), 'call_1')).toBe(true);
  });

  test('is not claimed after its session ended', () => {
    bench.append([toolRequested('call_1')], 'worker-pool:general');
    const permit = bench.propose('tool-guard');
    endSession();
    bench.append(permit, 'tool-guard');
    expect(bench.settle()).toEqual([]);
    expect(mayRun(state(), 'call_1')).toBe(false);
  });

  test('is not claimed after its task ended, nor after its agent was cancelled', () => {
    bench.append([toolRequested('call_1'), toolRequested('call_2', { task: 'b' })], 'w');
    const permits = bench.propose('tool-guard');
    bench.append([event('task.timed-out', { task: 'b', attempt: 1, deadlineAtMs: 1 })], 's');
    const because = 'task-ended';
    bench.append([event('agent.cancelled', { agent: 'reader.1', because })], 'w');
    bench.append(permits, 'tool-guard');
    expect(bench.settle()).toEqual([]);
  });
});

describe('an outcome', () => {
  test('ends the call: nothing of it is kept, nothing may run, a second one changes nothing', () => {
    ask('call_1');
    bench.input(completed(newest(bench.events, 'tool.claimed'), 'text'));
    expect(mayRun(state(), 'call_1')).toBe(false);
    expect(callOf(state(), 'call_1')).toBeUndefined();
    expect(JSON.stringify(state())).not.toContain('a.txt');
    const before = state();
    bench.input(failedCall(newest(bench.events, 'tool.claimed')));
    expect(state()).toBe(before);
    expect(bench.settle()).toEqual([]);
  });
});

describe('a lost claim', () => {
  test.each(['read', 'put'])('of %s is claimed again, three times in all', (name) => {
    ask('call_1', name);
    expect(bench.typesOf(lose('call_1'))).toEqual(['tool.claimed']);
    expect(bench.propose('tool-runner')).toEqual([]);
    expect(callOf(state(), 'call_1')).toMatchObject({ attempt: 2, arguments: { path: 'a.txt' } });
    lose('call_1', 'deadline');
    expect(eventsOf(bench.events, 'tool.claimed').map((one) => one.data.attempt)).toEqual([
      1, 2, 3,
    ]);
    const [unknown] = lose('call_1', 'deadline');
    expect(unknown?.data).toEqual({
      call: 'call_1',
      tool: name,
      attempt: 3,
      because: 'deadline',
    });
  });

  test('of a tool that must not run twice is unknown, at once and for good', () => {
    ask('call_1', 'write');
    expect(bench.typesOf(lose('call_1'))).toEqual(['tool.unknown']);
    expect(bench.settle()).toEqual([]);
    expect(mayRun(state(), 'call_1')).toBe(false);
  });

  test('of work that ended is unknown, so that nothing stays open', () => {
    ask('call_1', 'read');
    endSession();
    expect(mayRun(state(), 'call_1')).toBe(false);
    expect(bench.settle()).toEqual([]);
    expect(bench.typesOf(lose('call_1'))).toEqual(['tool.unknown']);
  });

  test('that is about an older claim is answered already', () => {
    ask('call_1');
    lose('call_1');
    expect(bench.settle()).toEqual([]);
  });

  test('that was on its way when the session ended ends as unknown', () => {
    bench.append([toolRequested('call_1')], 'worker-pool:general');
    bench.append(bench.propose('tool-guard'), 'tool-guard');
    const claim = bench.propose('tool-runner');
    endSession();
    bench.append(claim, 'tool-runner');
    expect(mayRun(state(), 'call_1')).toBe(false);
    expect(bench.typesOf(lose('call_1'))).toEqual(['tool.unknown']);
  });

  // Simulation, seed 500063.
  test('that was made again while the first answer came opens nothing and runs nothing', () => {
    ask('call_1');
    const first = newest(bench.events, 'tool.claimed');
    bench.openCalls = {
      call_1: {
        ...{ status: 'claimed', service: 'tool-runner', claim: addressOf(first) },
        ...{ incarnation: 'inc_test', attempt: 1, deadlineAtMs: 1 },
      },
    };
    bench.lost = { call_1: 'deadline' };
    const again = bench.propose('tool-runner');
    bench.input(completed(first, 'text'));
    bench.openCalls = {};
    bench.append(again, 'tool-runner');
    expect(mayRun(state(), 'call_1')).toBe(false);
    expect(state().calls).toEqual({});
    expect(bench.settle()).toEqual([]);
  });
});

test('claims of other services are left to them', () => {
  const claim = { call: 'call_9', tool: 'run', attempt: 1, deadlineAtMs: 5 };
  const before = state();
  bench.append([event('tool.claimed', claim)], 'sandbox-executor');
  expect(state()).toBe(before);
});
