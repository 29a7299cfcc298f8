import { describe, expect, it } from 'vitest';
import type { PlanDefinition, Planning } from '../../../../schemas/definitions/plan.ts';
import { bodyOf, type DataOf, type Draft, event, json, text } from '../../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import { problemOfDraft } from '../../../../services/chassis/protocol/validate.ts';
import { plannerLogic } from '../../../../services/planner/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { aCatalog, aPlan, opened } from '../../../support/plan-fixtures.ts';
import { SupervisorBench } from '../../../support/supervisor-bench.ts';

const planning: Planning = {
  model: 'thinker',
  guidance: 'Look twice.',
  agents: [{ agent: 'worker', pool: 'main' }],
  tasksMax: 3,
  attemptsMax: 2,
  outputTokensMax: 500,
  timeoutMs: 5_000,
};
const shell: PlanDefinition = { ...aPlan([]), planning };
const ofForm2: PlanDefinition = { ...shell, planning: { ...planning, form: 2 } };

function bench(plan = shell, goal: Partial<DataOf<'session.opened'>> = {}) {
  const catalog = { ...aCatalog(plan), models: { thinker: 'scripted/thinker' } };
  const attachments = { catalog: catalog as unknown as JsonValue };
  const facts: JsonObject = { plans: ['audit'], pools: ['main'], problems: [] };
  const session = new BenchSession([
    { logic: plannerLogic, facts: () => ({ facts, attachments }) },
  ]);
  session.input(opened(goal));
  return session;
}

function decide(session: BenchSession): readonly Draft[] {
  const drafts = session.propose('planner');
  for (const draft of drafts) expect(problemOfDraft(draft)).toBeUndefined();
  session.append(drafts, 'planner');
  expect(session.propose('planner')).toEqual([]);
  return drafts;
}

const usage = { inputTokens: 5, outputTokens: 7, costNanoUsd: 11 };

function answer(session: BenchSession, said: JsonValue | string): void {
  const asked = session.events.findLast((one) => one.type === 'model.requested');
  if (asked?.type !== 'model.requested') throw new Error('nothing was asked');
  const { call, model } = asked.data;
  const claim = { call, attempt: 1, model, deadlineAtMs: session.nowMs + 5_000 };
  session.append([event('model.claimed', claim)], 'model-gateway');
  const body = { text: typeof said === 'string' ? said : JSON.stringify(said), toolCalls: [] };
  const data = {
    ...{ call, claim: 'rec#0', provider: 'scripted', model, finishReason: 'stop' as const },
    ...usage,
    ...{ cachedInputTokens: 0, durationMs: 1, priceVersion: 'x', fromCache: false },
  };
  session.append([event('model.completed', data as never, { message: json(body) })], 'input');
}

function fail(session: BenchSession, retryable: boolean): void {
  const asked = session.events.findLast((one) => one.type === 'model.requested');
  const call = asked?.type === 'model.requested' ? asked.data.call : '';
  const data = {
    ...{ call, claim: 'rec#0', provider: 'scripted', model: 'scripted/thinker' },
    ...{ code: 'OVERLOADED', class: 'overloaded', retryable, durationMs: 1 },
    ...{ ...usage, costNanoUsd: 0, retryAfterMs: 0 },
  };
  session.append([event('model.failed', data as never, { message: text('busy') })], 'input');
}

const bodyIn = <T>(draft: Draft | undefined, name: string): readonly T[] =>
  (draft?.content?.[name]?.body ?? []) as unknown as readonly T[];

const typesOf = (drafts: readonly Draft[]): string[] => drafts.map(({ type }) => type);
const good = { tasks: [{ id: 'look', agent: 'worker', input: { goal: '=goal' } }] };

describe('a plan from a model', () => {
  it('asks with the goal, the agents and the guidance, and accepts what can run', () => {
    const session = bench();
    const [asked] = decide(session);
    if (asked?.type !== 'model.requested') throw new Error('not asked');
    expect(asked.data).toMatchObject({ model: 'scripted/thinker', agent: 'planner', step: 1 });
    const [system] = bodyIn<{ text: string }>(asked, 'messages');
    expect(system?.text).toContain('- worker: Reads.');
    expect(system?.text).toContain('Look twice.');
    answer(session, `\`\`\`json\n${JSON.stringify(good)}\n\`\`\``);
    const [proposed, accepted] = decide(session);
    expect(proposed).toMatchObject({ type: 'plan.proposed', data: { origin: 'model' } });
    expect(accepted).toMatchObject({
      type: 'plan.accepted',
      data: { tasks: [{ id: 'look', pool: 'main', agent: 'worker' }] },
    });
  });

  it('gives back what is wrong, and takes the corrected answer', () => {
    const session = bench();
    decide(session);
    answer(session, { tasks: [{ id: 'a', agent: 'wroker', needs: ['b'] }] });
    const drafts = decide(session);
    expect(typesOf(drafts)).toEqual(['plan.proposed', 'plan.rejected', 'model.requested']);
    expect(drafts[1]?.data).toMatchObject({ again: true, code: 'PLAN_INVALID' });
    const messages = bodyIn<{ text: string }>(drafts[2], 'messages');
    expect(messages).toHaveLength(1);
    expect(messages[0]?.text).toContain('tasks[0]');
    answer(session, good);
    expect(typesOf(decide(session))).toEqual(['plan.proposed', 'plan.accepted']);
  });

  it('gives up after so many answers, and says how often it asked and what that cost', () => {
    const session = bench();
    decide(session);
    answer(session, 'I would rather not.');
    decide(session);
    answer(session, {
      tasks: Array.from({ length: 4 }, (_, at) => ({ id: `t${at}`, agent: 'worker' })),
    });
    const drafts = decide(session);
    expect(typesOf(drafts)).toEqual(['plan.proposed', 'plan.rejected']);
    expect(drafts[1]?.data).toEqual({
      ...{ plan: 'audit', code: 'PLANNING_FAILED', violations: 1, attempts: 2, costNanoUsd: 22 },
    });
    const [first, second] = bodyIn<JsonObject>(drafts[1], 'violations');
    expect(first?.['reason']).toContain('asked 2 times for 22 nano-USD');
    expect(second?.['reason']).toContain('There are 4 tasks; at most 3');
  });

  it('ends the session too where the model fails after an answer that went back', () => {
    const session = bench(ofForm2);
    decide(session);
    answer(session, 'I would rather not.');
    decide(session);
    fail(session, false);
    const drafts = decide(session);
    expect(typesOf(drafts)).toEqual(['plan.proposed', 'plan.rejected']);
    expect(drafts[1]?.data).toMatchObject({ code: 'PLANNING_FAILED', attempts: 2 });
    const stopping = new SupervisorBench();
    for (const one of session.events) stopping.append([one as unknown as Draft], one.service);
    expect(stopping.says()).toContain('session.failed PLAN_REJECTED');
  });

  it('gives a task back that may spend more than the goal has', () => {
    const session = bench(ofForm2, { budgetNanoUsd: 1_000 });
    const [asked] = decide(session);
    expect(JSON.stringify(bodyIn(asked, 'messages'))).toContain('budgetNanoUsd');
    const dear = (budgetNanoUsd: number) => ({ tasks: [{ ...good.tasks[0], budgetNanoUsd }] });
    answer(session, dear(1_001));
    const [, rejected] = decide(session);
    expect(bodyIn(rejected, 'violations')).toEqual([
      {
        where: 'tasks[0].budgetNanoUsd',
        reason: 'Task "look" may spend 1001 nano-USD; the goal has 1000.',
        fix: 'Give it less, or leave it out.',
      },
    ]);
    answer(session, dear(1_000));
    expect(typesOf(decide(session))).toEqual(['plan.proposed', 'plan.accepted']);
  });

  it('of a session that pinned its plan before there were forms looks at no budget', () => {
    const session = bench(shell, { budgetNanoUsd: 1_000 });
    const [asked] = decide(session);
    expect(JSON.stringify(asked)).not.toContain('budgetNanoUsd');
    answer(session, { tasks: [{ ...good.tasks[0], budgetNanoUsd: 1_001 }] });
    expect(typesOf(decide(session))).toEqual(['plan.proposed', 'plan.accepted']);
  });

  it('asks again after a failure that may pass, and not for ever', () => {
    const session = bench();
    decide(session);
    for (let calls = 1; calls <= 6; calls += 1) {
      fail(session, true);
      expect(typesOf(decide(session))).toEqual([calls < 6 ? 'model.requested' : 'plan.rejected']);
    }
    const rejected = session.events.findLast((one) => one.type === 'plan.rejected');
    expect(JSON.stringify(bodyOf(rejected?.content.violations))).toContain('OVERLOADED');
  });
});
