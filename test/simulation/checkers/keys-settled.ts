import type { SeenEvent } from '../../../schemas/event.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker } from './violation.ts';

const rule =
  'a goal that asks for a key gets it and gives it back, or is turned away, or goes away';

type Fate = Readonly<{ assigned: number; denied: number; freed: number; diverted: boolean }>;

const none: Fate = { assigned: 0, denied: 0, freed: 0, diverted: false };

/** What the log of a key says of each goal that asked. */
function fatesOf(events: readonly SeenEvent[]): ReadonlyMap<string, Fate> {
  const fates = new Map<string, Fate>();
  for (const { type, data } of events) {
    // One that comes back from a loop that had no use for it begins anew.
    if (type === 'key.requested')
      fates.set(data.goalLog, { ...none, ...fates.get(data.goalLog), diverted: false });
    if (type === 'key.diverted')
      fates.set(data.goalLog, { ...none, ...fates.get(data.goalLog), diverted: true });
    if (type !== 'key.assigned' && type !== 'key.denied' && type !== 'key.freed') continue;
    const fate = fates.get(data.goalLog) ?? none;
    const what = type === 'key.assigned' ? 'assigned' : type === 'key.denied' ? 'denied' : 'freed';
    fates.set(data.goalLog, { ...fate, [what]: fate[what] + 1 });
  }
  return fates;
}

/** One that goes away as its turn comes may be told of both. */
const isWell = ({ assigned, denied, freed, diverted }: Fate): boolean =>
  assigned + denied <= 1 && freed <= 1 && (diverted || denied === 1 || freed === 1);

/** One that stands for another has asked for the key itself. */
function strangers(events: readonly SeenEvent[], known: ReadonlySet<string>): string[] {
  return events.flatMap(({ type, data }) => {
    if (type !== 'key.denied' || data.supersededBy === undefined) return [];
    return known.has(data.supersededBy) ? [] : [`${data.supersededBy} never asked`];
  });
}

function found({ session, lines }: SessionHistory): string[] {
  const events = lines.flatMap(({ step }) => step.events);
  if (events.some(({ type }) => type === 'decision.failed')) return [];
  const fates = fatesOf(events);
  const wrong = [...fates].flatMap(([goalLog, fate]) =>
    isWell(fate) ? [] : [`${goalLog}: ${JSON.stringify(fate)}`],
  );
  return [...wrong, ...strangers(events, new Set(fates.keys()))].map((one) => `${session}: ${one}`);
}

/** By the end of a run every goal has ended, and so every key is free. */
export const keysSettled: Checker = ({ history }) =>
  [...history.sessions.values()]
    .filter(({ session }) => session.startsWith('key_'))
    .flatMap((session) => found(session).map((detail) => ({ rule, detail })));
