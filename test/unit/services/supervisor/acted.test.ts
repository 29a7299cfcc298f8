import { describe, expect, it } from 'vitest';
import { type DataOf, event, json, textOf } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import {
  aCatalog,
  aPlan,
  aTask,
  opened,
  planTurn,
  taskFailed,
} from '../../../support/plan-fixtures.ts';
import { runningSession, SupervisorBench } from '../../../support/supervisor-bench.ts';
import { procedure } from '../../../support/work-fixtures.ts';

const plan = aPlan([aTask('a', { attemptsMax: 3 }), aTask('b', { attemptsMax: 3 })]);

/** An agent of the task asks for a call, and the guard permits it. */
function permit(
  bench: SupervisorBench,
  task: string,
  effect: DataOf<'tool.permitted'>['effect'],
): void {
  const call = `call-${task}`;
  const asked = {
    call,
    agent: `${task}.1`,
    task,
    attempt: 1,
    step: 1,
    agentName: 'x',
    tool: 'pay',
  };
  bench.append([event('tool.requested', asked, { arguments: json({}) })], 'worker-pool:test');
  const digest = '0'.repeat(64);
  const permitted = { call, tool: 'pay', toolVersion: '1', toolDigest: digest, effect };
  const rest = { runner: 'builtin', risk: 'low', argumentsDigest: digest, timeoutMs: 1 } as const;
  bench.append([event('tool.permitted', { ...permitted, ...rest })], 'tool-guard');
}

function scheduled(): SupervisorBench {
  const bench = runningSession(plan);
  bench.decide();
  return bench;
}

describe('an attempt that was allowed a call which must not be made twice', () => {
  it('is the last one: a further one would begin with the first step', () => {
    const bench = scheduled();
    permit(bench, 'a', 'at-most-once');
    bench.append([taskFailed('a')], 'worker-pool');
    expect(bench.says()[0]).toBe('task.abandoned a');
    const { message } = bench.eventOf('task.abandoned').content;
    expect(textOf(message)).toMatch(
      /not tried again, because it made a call that must not be made twice/,
    );
  });

  it('is the last one also where the task timed out', () => {
    const bench = scheduled();
    permit(bench, 'a', 'at-most-once');
    bench.fire('supervisor/task/a/1');
    expect(bench.says().slice(0, 2)).toEqual(['task.timed-out a 1', 'task.abandoned a']);
  });

  it('does not keep other tasks from their next attempts, nor do calls that may be repeated', () => {
    const bench = scheduled();
    permit(bench, 'a', 'at-most-once');
    permit(bench, 'b', 'idempotent');
    bench.append([taskFailed('b')], 'worker-pool');
    expect(bench.says()[0]).toBe('task.retry-scheduled b 2');
  });
});

it('is followed by others where the agent goes on from what is recorded', () => {
  const resuming = aPlan([aTask('a', { attemptsMax: 3 })]);
  const turn = planTurn(resuming).map((draft) => {
    if (draft.type !== 'plan.accepted') return draft;
    const agent = procedure({ name: resuming.tasks[0]?.agent ?? '', form: 2 });
    const catalog = { ...aCatalog(resuming), agents: { [agent.name]: agent } };
    const content = { ...draft.content, catalog: json(catalog as unknown as JsonValue) };
    return { ...draft, content };
  });
  const bench = new SupervisorBench();
  bench.input(opened());
  bench.append(turn, 'planner');
  bench.decide();
  permit(bench, 'a', 'at-most-once');
  bench.append([taskFailed('a')], 'worker-pool');
  expect(bench.says()[0]).toBe('task.retry-scheduled a 2');
});
