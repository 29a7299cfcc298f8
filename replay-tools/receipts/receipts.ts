import type { Content } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { hashOf } from '../../services/chassis/protocol/hash.ts';
import { type Happening, type History, numberIn, textIn } from '../read/history.ts';
import { spentBy } from '../read/spent.ts';

/**
 * What a session did to the world, one receipt for each effect: who allowed it and by which rule, who carried it out, and
 * how it ended. Computed from the log, so anybody can compute it again.
 */

/** Where the log says it. */
export type Said = Readonly<{ place: string; atMs: number; by: string }>;

export type Decision = Said &
  Readonly<{
    answer: 'permitted' | 'denied';
    /** What decided: the check that refused; the pinned tool, or the budget, that allowed. */
    rule: string;
    code?: string;
    /** Of a tool: what its definition says of it, and the definition's hash. */
    effect?: string;
    risk?: string;
    runner?: string;
    definition?: string;
    reservedNanoUsd?: number;
    priceVersion?: string;
  }>;

/** One attempt at an effect. `by` is the service, `incarnation` the start of the process that claimed it. */
export type Claim = Said &
  Readonly<{
    attempt: number;
    incarnation: string;
    /** The model that was chosen; empty for a tool. */
    model: string;
  }>;

export type Outcome = Said &
  Readonly<{
    ended: 'completed' | 'failed' | 'attempt-failed' | 'unknown';
    attempt: number;
    code?: string;
    because?: string;
    costNanoUsd: number;
    durationMs: number;
    isolation?: string;
    exit?: string;
    priceVersion?: string;
  }>;

/** How an effect stands: `not made` was asked for and neither allowed nor refused, `open` has no end yet. */
export type Standing = 'completed' | 'failed' | 'unknown' | 'denied' | 'open' | 'not made';

export type Statement = Readonly<{
  session: string;
  number: number;
  kind: 'tool' | 'model';
  call: string;
  agent: string;
  task: string;
  name: string;
  version: string;
  requested: Said;
  decision: Decision | null;
  claims: readonly Claim[];
  outcomes: readonly Outcome[];
  standing: Standing;
  costNanoUsd: number;
  /** Digests of what went in and what came out, by the name of the content; salted as the session's contents are. */
  input: Readonly<Record<string, string>>;
  output: Readonly<Record<string, string>>;
}>;

export type Receipt = Statement &
  Readonly<{
    /** SHA-256 over the canonical statement and the digest of the receipt before it. */
    digest: string;
    /** Of whom the signature will be that a receipt gets when it is made. Nobody signs yet. */
    signature: null;
  }>;

export type ReceiptReport = Readonly<{
  session: string;
  signed: false;
  receipts: readonly Receipt[];
  /** Digest of the last receipt, which stands for all; empty where there is none. */
  chain: string;
  totals: Readonly<Record<Standing, number>>;
  costNanoUsd: number;
}>;

const requestTypes: ReadonlySet<string> = new Set(['tool.requested', 'model.requested']);
const claimTypes: ReadonlySet<string> = new Set(['tool.claimed', 'model.claimed']);
const endings: Readonly<Record<string, Outcome['ended']>> = {
  'tool.completed': 'completed',
  'tool.failed': 'failed',
  'tool.unknown': 'unknown',
  'model.completed': 'completed',
  'model.failed': 'failed',
  'model.attempt-failed': 'attempt-failed',
};

const said = ({ place, event, who }: Happening): Said => ({ place, atMs: event.atMs, by: who });

/** The members of the data that are there, under the names that a receipt has for them. */
function texts<N extends string>(
  one: Happening,
  names: Readonly<Record<N, string>>,
): Readonly<{ [K in N]?: string }> {
  const found = Object.entries<string>(names).flatMap(([name, member]) => {
    const value = textIn(one, member);
    return value === '' ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found) as { [K in N]?: string };
}

function numbers<N extends string>(one: Happening, ...names: readonly N[]) {
  const found = names.flatMap((name) => {
    const value = numberIn(one, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found) as Partial<Record<N, number>>;
}

const digestsOf = (one: Happening | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries((one?.event.content ?? {}) as Readonly<Record<string, Content>>).map(
      ([name, { digest }]) => [name, digest],
    ),
  );

/** The rule by which a call was answered, as far as the log tells it. */
function decisionOf(one: Happening): Decision | undefined {
  switch (one.event.type) {
    case 'tool.permitted': {
      const { risk, effect } = one.event.data;
      const rule = `as pinned, risk ${risk}, ${effect}`;
      const names = { effect: 'effect', risk: 'risk', runner: 'runner', definition: 'toolDigest' };
      return { ...said(one), answer: 'permitted', rule, ...texts(one, names) };
    }
    case 'tool.denied': {
      const { check, code } = one.event.data;
      return { ...said(one), answer: 'denied', rule: `check ${check}`, code };
    }
    case 'budget.reserved': {
      const amounts = {
        ...numbers(one, 'reservedNanoUsd'),
        ...texts(one, { priceVersion: 'priceVersion' }),
      };
      return { ...said(one), answer: 'permitted', rule: 'budget', ...amounts };
    }
    // Where no budget is set, the claim alone says that the call may be made.
    case 'model.claimed':
      return { ...said(one), answer: 'permitted', rule: 'no budget set' };
    case 'model.denied': {
      const { code, class: rule = code } = one.event.data;
      return { ...said(one), answer: 'denied', rule, code };
    }
    default:
      return undefined;
  }
}

const claimOf = (one: Happening): Claim => ({
  ...said(one),
  attempt: numberIn(one, 'attempt') ?? 1,
  incarnation: one.event.incarnation,
  model: textIn(one, 'model'),
});

function outcomeOf(history: History, one: Happening): Outcome | undefined {
  const ended = endings[one.event.type];
  if (ended === undefined) return undefined;
  const names = { code: 'code', because: 'because', isolation: 'isolation', exit: 'exit' };
  return {
    ...{ ...said(one), ended, attempt: numberIn(one, 'attempt') ?? 1 },
    ...{ costNanoUsd: spentBy(history, one).costNanoUsd },
    ...{ durationMs: numberIn(one, 'durationMs') ?? 0 },
    ...texts(one, { ...names, priceVersion: 'priceVersion' }),
  };
}

type Told = Readonly<{
  decision: Decision | null;
  claims: readonly Claim[];
  outcomes: readonly Outcome[];
}>;

/** The last word counts: a call that was unknown may be settled later, and one that was lost is claimed again. */
function standingOf({ decision, claims, outcomes }: Told): Standing {
  const last = outcomes.at(-1);
  if (decision?.answer === 'denied') return 'denied';
  if (last !== undefined && last.ended !== 'attempt-failed') return last.ended;
  return claims.length > 0 || decision !== null ? 'open' : 'not made';
}

/** The tool, or the model that was asked last. */
function nameOf(requested: Happening, claims: readonly Claim[]): string {
  if (requested.event.type === 'tool.requested') return requested.event.data.tool;
  return claims.at(-1)?.model ?? textIn(requested, 'model');
}

function statementOf(history: History, events: readonly Happening[]): Omit<Statement, 'number'> {
  const { session } = history;
  const requested = events[0] as Happening;
  const decisions = events.flatMap((one) => decisionOf(one) ?? []);
  const decision = decisions.findLast(({ answer }) => answer === 'denied') ?? decisions[0] ?? null;
  const claims = events.filter(({ event }) => claimTypes.has(event.type)).map(claimOf);
  const outcomes = events.flatMap((one) => outcomeOf(history, one) ?? []);
  const isTool = requested.event.type === 'tool.requested';
  const permitted = events.find(({ event }) => event.type === 'tool.permitted');
  const answer = events.findLast(({ event }) => event.type in endings);
  return {
    ...{ session, kind: isTool ? 'tool' : 'model', call: textIn(requested, 'call') },
    ...{ agent: textIn(requested, 'agent'), task: textIn(requested, 'task') },
    name: nameOf(requested, claims),
    version: permitted === undefined ? '' : textIn(permitted, 'toolVersion'),
    requested: said(requested),
    ...{ decision, claims, outcomes, standing: standingOf({ decision, claims, outcomes }) },
    costNanoUsd: outcomes.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0),
    ...{ input: digestsOf(requested), output: digestsOf(answer) },
  };
}

/** The events of each call, in order. A call that ended in the past that a fork shares is the other session's. */
function callsOf(history: History): readonly (readonly Happening[])[] {
  const calls = new Map<string, Happening[]>();
  for (const one of history.whole) {
    const call = textIn(one, 'call');
    if (requestTypes.has(one.event.type)) calls.set(call, [one]);
    else calls.get(call)?.push(one);
  }
  const own = new Set(history.entries);
  return [...calls.values()].filter((events) => events.some((one) => own.has(one)));
}

/** The receipts of a session, in the order in which the effects were asked for. */
export function receiptsOf(history: History): ReceiptReport {
  const { session } = history;
  let chain = '';
  const receipts = callsOf(history).map((events, index): Receipt => {
    const statement: Statement = { ...statementOf(history, events), number: index + 1 };
    chain = hashOf([statement as unknown as JsonValue, chain]);
    return { ...statement, digest: chain, signature: null };
  });
  const standings: readonly Standing[] = [
    'completed',
    'failed',
    'unknown',
    'denied',
    'open',
    'not made',
  ];
  const totals = Object.fromEntries(
    standings.map((one) => [one, receipts.filter(({ standing }) => standing === one).length]),
  ) as Record<Standing, number>;
  const costNanoUsd = receipts.reduce((sum, one) => sum + one.costNanoUsd, 0);
  return { session, signed: false, receipts, chain, totals, costNanoUsd };
}
