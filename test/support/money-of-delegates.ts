import { type Draft, event, json, text } from '../../schemas/event.ts';

/** A session of one task whose agents delegate, with a budget of the goal, of the task, of both, or none. */

export function openedSession(budgetNanoUsd?: number): Draft {
  const goal = { goalId: 'g', source: '', priority: 'normal', lane: 'normal', plan: 'p' } as const;
  const budget = budgetNanoUsd === undefined ? {} : { budgetNanoUsd };
  const data = { ...goal, goalLog: 'goal_x', openedAtMs: 1_000_000, ...budget };
  return event('session.opened', data, { goal: text('Do it.'), inputs: json({}) });
}

export function acceptedPlan(budgetNanoUsd?: number): Draft {
  const limits = { priority: 0, timeoutMs: 1_000, attemptsMax: 1, backoffMs: 1, onFailure: 'fail' };
  const task = { id: 'one', pool: 'p', agent: 'a', needs: [], ...limits } as const;
  const budget = budgetNanoUsd === undefined ? {} : { budgetNanoUsd };
  const plan = { name: 'p', version: '1.0.0', tasks: [{ ...task, ...budget }] };
  const data = { plan: 'p', version: '1.0.0', digest: 'd'.repeat(64), tasks: [] };
  const catalog = { plan, agents: {}, tools: {}, models: {} };
  return event('plan.accepted', data, { plan: json(plan), catalog: json(catalog) });
}
