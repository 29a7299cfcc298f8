import type { Candidate } from '../fork/candidate.ts';
import { type Parting, Rehearsal } from '../fork/rehearsal.ts';
import { type History, numberIn } from '../read/history.ts';
import type { LogicLookup } from '../verify/logics.ts';

/**
 * A candidate over many recorded sessions: where it would first have decided otherwise. What comes after the first
 * other decision of a session is not known, and not guessed.
 */

export type Verdict = Readonly<{
  session: string;
  /** `same`: every decision comes out as it was. `unreadable`: it could not be rehearsed, for the reason given. */
  verdict: 'same' | 'flipped' | 'unreadable';
  same: number;
  taken: number;
  unknown: number;
  /** What the session cost, and what of it came before the first other decision. */
  costNanoUsd: number;
  knownNanoUsd: number;
  flip?: Parting;
  reason?: string;
}>;

const spending: ReadonlySet<string> = new Set([
  ...['model.completed', 'model.failed', 'model.attempt-failed'],
]);

const costUntil = (history: History, offset: number): number =>
  history.entries
    .filter(({ event }) => spending.has(event.type))
    .filter((one) => one.offset < offset)
    .reduce((sum, one) => sum + (numberIn(one, 'costNanoUsd') ?? 0), 0);

/** Decides one session again with the candidate. Never throws for what is in the session. */
export function backtest(history: History, candidate: Candidate, logics?: LogicLookup): Verdict {
  const { session, entries } = history;
  const costNanoUsd = costUntil(history, Number.POSITIVE_INFINITY);
  const nothing = { session, same: 0, taken: 0, unknown: 0, costNanoUsd, knownNanoUsd: 0 };
  const [first] = entries;
  if (first === undefined) return { ...nothing, verdict: 'unreadable', reason: 'nothing happened' };
  if (history.judged.source.fork !== undefined)
    return { ...nothing, costNanoUsd: 0, verdict: 'unreadable', reason: 'it is a fork' };
  try {
    const options = logics === undefined ? { candidate } : { candidate, logics };
    const { parts, ...counts } = new Rehearsal(history, first, options).follow();
    const offset =
      parts === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(parts.place, 10);
    const known = { session, ...counts, costNanoUsd, knownNanoUsd: costUntil(history, offset) };
    return parts === undefined
      ? { ...known, verdict: 'same' }
      : { ...known, verdict: 'flipped', flip: parts };
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return { ...nothing, verdict: 'unreadable', reason };
  }
}

export type Flip = Readonly<{
  service: string;
  recorded: string;
  decided: string;
  sessions: number;
}>;

export type BacktestReport = Readonly<{
  changes: readonly string[];
  sessions: number;
  same: number;
  flipped: number;
  unreadable: number;
  decisionsSame: number;
  decisionsUnknown: number;
  costNanoUsd: number;
  knownNanoUsd: number;
  /** Kinds of other decisions, the most frequent first. */
  flips: readonly Flip[];
  /** Sessions with another decision, with the place of it. */
  first: readonly Readonly<{ session: string; place: string; service: string }>[];
}>;

const shownMax = 20;

/** Sums what the sessions say. */
export function reportOf(changes: readonly string[], verdicts: readonly Verdict[]): BacktestReport {
  const of = (verdict: Verdict['verdict']): readonly Verdict[] =>
    verdicts.filter((one) => one.verdict === verdict);
  const sum = (name: 'same' | 'unknown' | 'costNanoUsd' | 'knownNanoUsd'): number =>
    verdicts.reduce((total, one) => total + one[name], 0);
  const flips = new Map<string, Flip>();
  for (const { flip } of verdicts) {
    if (flip === undefined) continue;
    const { service } = flip;
    const [recorded, decided] = [flip.recorded.join(', '), flip.decided.join(', ') || 'nothing'];
    const key = JSON.stringify([service, recorded, decided]);
    const sessions = (flips.get(key)?.sessions ?? 0) + 1;
    flips.set(key, { service, recorded, decided, sessions });
  }
  const flipped = of('flipped');
  return {
    changes,
    ...{ sessions: verdicts.length, same: of('same').length, flipped: flipped.length },
    unreadable: of('unreadable').length,
    ...{ decisionsSame: sum('same'), decisionsUnknown: sum('unknown') },
    ...{ costNanoUsd: sum('costNanoUsd'), knownNanoUsd: sum('knownNanoUsd') },
    flips: [...flips.values()].toSorted((a, b) => b.sessions - a.sessions),
    first: flipped.slice(0, shownMax).map(({ session, flip }) => {
      return { session, place: flip?.place ?? '', service: flip?.service ?? '' };
    }),
  };
}
