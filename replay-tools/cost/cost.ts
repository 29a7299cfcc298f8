import type { SeenEvent } from '../../schemas/event.ts';
import { type Happening, type History, textIn } from '../read/history.ts';
import { isReplayed, saidBy, spentBy } from '../read/spent.ts';

/** What a session cost, and for what: exact, in whole nano-USD, from the outcomes that its log holds. */

export const costKeys = ['agent', 'task', 'model', 'tool', 'step'] as const;
export type CostKey = (typeof costKeys)[number];

export type CostLine = Readonly<{
  name: string;
  calls: number;
  failed: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  costNanoUsd: number;
  /** Sum of the times that calls took, in milliseconds; they may overlap. */
  durationMs: number;
}>;

export type CostReport = Readonly<{
  session: string;
  by: CostKey;
  lines: readonly CostLine[];
  total: CostLine;
  /** Of the total: what attempts took that did not complete their task. */
  lostNanoUsd: number;
  /** Beside the total: what answers cost that came when nobody waited for them. */
  lateNanoUsd: number;
  /** Beside the total: what answers had cost that a fork took from a record, for nothing. */
  replayedNanoUsd: number;
  /** Of the total: what agents gave to others, and what that cost with all that those gave on. */
  delegated: readonly DelegatedCost[];
}>;

/** `agent` gave the task to the agent `to`; nothing is known of the cost of one that has not ended. */
export type DelegatedCost = Readonly<{
  agent: string;
  task: string;
  to: string;
  kind: 'delegate' | 'handoff';
  outcome: string;
  costNanoUsd: number;
}>;

type Outcome = Happening &
  Readonly<{
    event: SeenEvent<
      'model.completed' | 'model.failed' | 'model.attempt-failed' | 'tool.completed' | 'tool.failed'
    >;
  }>;

const outcomeTypes = new Set([
  ...['model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed'],
]);

const isOutcome = (one: Happening): one is Outcome => outcomeTypes.has(one.event.type);

function lineOf(history: History, name: string, outcome: Outcome): CostLine {
  const { type, data } = outcome.event;
  const failed = type.endsWith('failed') ? 1 : 0;
  const spent = spentBy(history, outcome);
  return { name, calls: 1, failed, durationMs: data.durationMs, ...spent };
}

const nothing = (name: string): CostLine => ({
  ...{ name, calls: 0, failed: 0, inputTokens: 0, outputTokens: 0 },
  ...{ cacheReadTokens: 0, costNanoUsd: 0, durationMs: 0 },
});

function added(one: CostLine, other: CostLine): CostLine {
  const sum = (name: Exclude<keyof CostLine, 'name'>): number => one[name] + other[name];
  return {
    name: one.name,
    calls: sum('calls'),
    failed: sum('failed'),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cacheReadTokens: sum('cacheReadTokens'),
    costNanoUsd: sum('costNanoUsd'),
    durationMs: sum('durationMs'),
  };
}

/** What a call is counted under; undefined where it is none of this kind. */
function nameOf(history: History, outcome: Outcome, by: CostKey): string | undefined {
  const { agent, task, call } = outcome.scope;
  switch (by) {
    case 'agent':
      return agent ?? '(unknown)';
    case 'task':
      return task ?? '(unknown)';
    case 'model':
    case 'tool':
      return textIn(outcome, by) || undefined;
    case 'step': {
      const asked = history.ofType('model.requested', 'tool.requested');
      const request = asked.find((one) => one.scope.call === call);
      const step = request === undefined ? '?' : String(Reflect.get(request.event.data, 'step'));
      return `${agent ?? '(unknown)'} step ${step}`;
    }
  }
}

/** The task, and those that came from it by delegation or hand-off. */
const isPartOf = (task: string | undefined, whole: string): boolean =>
  task === whole || task?.startsWith(`${whole}/`) === true;

/** Who gave what to whom, in the order of the log. */
function delegatedIn(history: History, outcomes: readonly Outcome[]): readonly DelegatedCost[] {
  return history.ofType('task.delegated').flatMap(({ event }) => {
    if (event.type !== 'task.delegated') return [];
    const { agent, delegated: task, to, kind } = event.data;
    const end = history
      .ofType('task.completed', 'task.abandoned', 'task.cancelled')
      .find((one) => one.scope.task === task);
    const costNanoUsd = outcomes
      .filter(({ scope }) => isPartOf(scope.task, task))
      .reduce((sum, one) => sum + spentBy(history, one).costNanoUsd, 0);
    const outcome = end?.event.type.replace('task.', '').replace('abandoned', 'failed') ?? 'open';
    return [{ agent, task, to, kind, outcome, costNanoUsd }];
  });
}

/** Agents that ended well: they completed their task, or handed it on. */
function lost(history: History, outcomes: readonly Outcome[]): number {
  const done = new Set(history.ofType('task.completed').map((one) => textIn(one, 'agent')));
  for (const one of history.ofType('task.delegated'))
    if (textIn(one, 'kind') === 'handoff') done.add(textIn(one, 'agent'));
  return outcomes
    .filter(({ scope }) => !done.has(scope.agent ?? ''))
    .reduce((sum, one) => sum + spentBy(history, one).costNanoUsd, 0);
}

const replayed = (history: History, outcomes: readonly Outcome[]): number =>
  outcomes
    .filter((one) => isReplayed(history, one))
    .reduce((sum, one) => sum + saidBy(one).costNanoUsd, 0);

/** Late outcomes count for nothing in the session, and were paid for. */
function late(history: History): number {
  return history.judged.records.reduce((sum, { record, ignored }) => {
    if (ignored !== 'late' || record.body?.kind !== 'input') return sum;
    const cost = record.body.event.data['costNanoUsd'];
    return sum + (typeof cost === 'number' ? cost : 0);
  }, 0);
}

/** The costs of a session, the dearest line first. */
export function costOf(history: History, by: CostKey): CostReport {
  const outcomes = history.entries.filter(isOutcome);
  const lines = new Map<string, CostLine>();
  let total = nothing('total');
  for (const outcome of outcomes) {
    const name = nameOf(history, outcome, by);
    if (name === undefined) continue;
    const line = lineOf(history, name, outcome);
    lines.set(name, added(lines.get(name) ?? nothing(name), line));
    total = added(total, line);
  }
  return {
    session: history.session,
    by,
    lines: [...lines.values()].toSorted(
      (a, b) => b.costNanoUsd - a.costNanoUsd || b.calls - a.calls,
    ),
    total,
    lostNanoUsd: lost(history, outcomes),
    lateNanoUsd: late(history),
    replayedNanoUsd: replayed(history, outcomes),
    delegated: delegatedIn(history, outcomes),
  };
}
