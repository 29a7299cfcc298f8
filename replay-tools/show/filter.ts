import { LongreinError } from '../../services/chassis/errors.ts';
import type { Happening, History } from '../read/history.ts';

/** Which events of a session somebody wants to see. */

export type Filter = Readonly<{
  /** Names of services; `worker-pool` stands for every pool. */
  services?: readonly string[];
  tasks?: readonly string[];
  /** Types of events, or what they begin with: `tool.failed`, `tool`. */
  kinds?: readonly string[];
}>;

const begins = (text: string, start: string, end: string): boolean =>
  text === start || text.startsWith(`${start}${end}`);

type Part = Readonly<{
  option: string;
  wanted: readonly string[];
  say(one: Happening): string;
  holds(value: string, wanted: string): boolean;
}>;

function partsOf({ services = [], tasks = [], kinds = [] }: Filter): readonly Part[] {
  const ofService = (value: string, wanted: string): boolean => begins(value, wanted, ':');
  const ofKind = (value: string, wanted: string): boolean =>
    begins(value, wanted.replace(/\.?\*?$/, ''), '.');
  const same = (value: string, wanted: string): boolean => value === wanted;
  return [
    { option: '--service', wanted: services, say: ({ who }) => who, holds: ofService },
    { option: '--task', wanted: tasks, say: ({ scope }) => scope.task ?? '', holds: same },
    { option: '--kind', wanted: kinds, say: ({ event }) => event.type, holds: ofKind },
  ];
}

/** A word that fits nothing is a mistake in writing, and an empty page would hide it. */
function refuseUnknown({ option, wanted, say, holds }: Part, history: History): void {
  const known = [...new Set(history.entries.map(say))].filter((value) => value !== '').sort();
  const strange = wanted.find((one) => !known.some((value) => holds(value, one)));
  if (strange === undefined) return;
  const message = `no event of ${history.session} fits ${option} ${strange}`;
  const fix = known.length === 0 ? 'leave it out' : `it has: ${known.join(', ')}`;
  throw new LongreinError('FILTER_EMPTY', message, { fix });
}

const isFit = (one: Happening, parts: readonly Part[]): boolean =>
  parts.every(({ wanted, say, holds }) => wanted.some((value) => holds(say(one), value)));

const narrowing = (filter: Filter): readonly Part[] =>
  partsOf(filter).filter(({ wanted }) => wanted.length > 0);

/** Whether one event fits every part of the filter. */
export const fits = (one: Happening, filter: Filter): boolean => isFit(one, narrowing(filter));

/** The events that fit every part of the filter. Throws LongreinError FILTER_EMPTY, which names what there is. */
export function filtered(history: History, filter: Filter): readonly Happening[] {
  const parts = narrowing(filter);
  for (const part of parts) refuseUnknown(part, history);
  return history.entries.filter((one) => isFit(one, parts));
}
