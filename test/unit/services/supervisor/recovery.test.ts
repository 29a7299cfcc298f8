import { describe, expect, it } from 'vitest';
import type { ErrorPolicy } from '../../../../schemas/definitions/agent.ts';
import { bodyOf, event, json } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import {
  aCatalog,
  aPlan,
  aTask,
  opened,
  planTurn,
  taskFailed,
} from '../../../support/plan-fixtures.ts';
import { SupervisorBench } from '../../../support/supervisor-bench.ts';
import { procedure } from '../../../support/work-fixtures.ts';

/** What the supervisor decides where the template of an agent says how it is healed. */

const base: ErrorPolicy = { attempts: 'resume', tools: 'fail', models: [] };

function healing(onError: Partial<ErrorPolicy>): SupervisorBench {
  const plan = aPlan([aTask('a', { attemptsMax: 1 })]);
  const agent = procedure({ name: 'worker', form: 3, onError: { ...base, ...onError } });
  const bench = new SupervisorBench();
  bench.input(opened());
  const turn = planTurn(plan).map((draft) => {
    if (draft.type !== 'plan.accepted') return draft;
    const catalog = { ...aCatalog(plan), agents: { worker: agent } };
    const content = { ...draft.content, catalog: json(catalog as unknown as JsonValue) };
    return { ...draft, content };
  });
  bench.append(turn, 'planner');
  bench.decide();
  return bench;
}

const recovery = (bench: SupervisorBench) => bench.eventOf('task.retry-scheduled').data.recovery;

/** The step that is due is taken. */
function again(bench: SupervisorBench, attempt: number): void {
  bench.decide();
  bench.fire(`supervisor/retry/a/${attempt}`);
  bench.decide();
}

/** The agent that works is allowed a call that must not be made twice. */
function paid(bench: SupervisorBench): void {
  const head = { call: 'call-a', agent: 'a.2', task: 'a', attempt: 2, step: 1 };
  const asked = { ...head, agentName: 'b', tool: 'pay' };
  bench.append([event('tool.requested', asked, { arguments: json({}) })], 'worker-pool:main');
  const digest = '0'.repeat(64);
  const tool = { call: 'call-a', tool: 'pay', toolVersion: '1', toolDigest: digest } as const;
  const rest = { runner: 'builtin', risk: 'low', argumentsDigest: digest, timeoutMs: 1 } as const;
  const permitted = { ...tool, ...rest, effect: 'at-most-once' } as const;
  bench.append([event('tool.permitted', permitted)], 'tool-guard');
}

describe('an attempt that failed', () => {
  it('is followed by one of the same agent, which is told what was tried', () => {
    const bench = healing({ restart: 1 });
    bench.append([taskFailed('a', { retryable: false })], 'worker-pool');
    expect(bench.says()[0]).toBe('task.retry-scheduled a 2');
    expect(recovery(bench)).toEqual({ step: 'restart', count: 1, class: 'tool-error' });
    bench.fire('supervisor/retry/a/2');
    bench.decide();
    const { data, content } = bench.eventOf('task.scheduled');
    expect(data).toMatchObject({ attempt: 2, agent: 'worker', recovery: { step: 'restart' } });
    expect(bodyOf(content.tried)).toEqual([
      {
        ...{ attempt: 1, agent: 'worker', code: 'TOOL_FAILED', class: 'tool-error' },
        message: 'a broke',
      },
    ]);
  });

  it('for lack of money is followed by who takes over at once', () => {
    const bench = healing({ restart: 3, replaceWith: [{ agent: 'cheap' }] });
    bench.append([taskFailed('a', { class: 'budget' })], 'worker-pool');
    bench.decide();
    expect(recovery(bench)).toMatchObject({ step: 'replace', agent: 'cheap' });
    expect(bench.eventOf('task.retry-scheduled').data.dueAtMs).toBe(bench.nowMs);
  });

  it('with a call of which nobody knows goes to a person, who cannot have it tried again', () => {
    const bench = healing({ restart: 3, replaceWith: [{ agent: 'b' }], escalate: { timesMax: 1 } });
    bench.append([taskFailed('a', { class: 'unknown-outcome' })], 'worker-pool');
    bench.decide();
    bench.fire('supervisor/retry/a/2');
    bench.decide();
    expect(bench.eventOf('task.scheduled').data.recovery).toEqual({
      ...{ step: 'escalate', mayRetry: false },
    });
  });

  it("of another agent leads back to the plan's agent where a person is asked", () => {
    const bench = healing({ replaceWith: [{ agent: 'b' }], escalate: { timesMax: 1 } });
    bench.append([taskFailed('a')], 'worker-pool');
    again(bench, 2);
    expect(bench.eventOf('task.scheduled').data).toMatchObject({ attempt: 2, agent: 'b' });
    bench.append([taskFailed('a', { attempt: 2 })], 'worker-pool');
    again(bench, 3);
    expect(bench.eventOf('task.scheduled').data).toMatchObject({
      ...{ attempt: 3, agent: 'worker', recovery: { step: 'escalate', mayRetry: true } },
    });
  });

  it('of another agent that made a call which must not be made twice is not tried again', () => {
    const bench = healing({ replaceWith: [{ agent: 'b' }], escalate: { timesMax: 1 } });
    bench.append([taskFailed('a')], 'worker-pool');
    again(bench, 2);
    paid(bench);
    bench.append([taskFailed('a', { attempt: 2 })], 'worker-pool');
    again(bench, 3);
    expect(bench.eventOf('task.scheduled').data.recovery).toMatchObject({ mayRetry: false });
  });

  it('that ran out of time is healed as one that failed', () => {
    const bench = healing({ restart: 1 });
    bench.fire('supervisor/task/a/1');
    expect(bench.says().slice(0, 2)).toEqual(['task.timed-out a 1', 'task.retry-scheduled a 2']);
  });

  it('is the last where a person gave it up', () => {
    const bench = healing({ restart: 3, escalate: { timesMax: 3 } });
    bench.append([taskFailed('a', { code: 'GIVEN_UP', class: 'denied' })], 'worker-pool');
    expect(bench.says()[0]).toBe('task.abandoned a');
  });
});
