import { causesOf } from '../read/causes.ts';
import { type Happening, History, textIn } from '../read/history.ts';
import { judgeSession } from '../read/session.ts';
import type { SessionSource } from '../read/source.ts';

/** The chain of causes of an event, back to the goal, across the logs that it passed. */

export type Link = Readonly<{
  session: string;
  happening: Happening;
  /** What its service had to answer besides; not followed. */
  others: readonly Happening[];
}>;

/** Where the chain goes on in another log, and by which events there. */
export type Crossing = Readonly<{ session: string; types: readonly string[] }>;

export type Why = Readonly<{
  /** From the goal to the event that was asked for. */
  links: readonly Link[];
  /** Where the chain leaves what could be read; absent where it reaches the goal. */
  beyond?: Crossing;
}>;

/** Opens the log of another session; undefined where it is not to be had. */
export type OpenSession = (session: string) => Promise<SessionSource | undefined>;

/** The events of the goal log that write into the session. */
const senders: Readonly<Record<string, readonly string[]>> = {
  'session.opened': ['goal.admitted'],
  'session.cancel-requested': ['goal.cancel-forwarded'],
  'session.signalled': ['goal.signal-forwarded'],
};

/** Where an input came from that another log sent here. */
function crossingOf(history: History, input: Happening): Crossing | undefined {
  const types = senders[input.event.type];
  if (types === undefined) return undefined;
  const opening = history.ofType('session.opened')[0];
  const session = opening === undefined ? '' : textIn(opening, 'goalLog');
  return session === '' ? undefined : { session, types };
}

/** The links of one log, the first cause first. */
function chainIn(history: History, from: Happening): Link[] {
  const links: Link[] = [];
  const seen = new Set<string>();
  let at: Happening | undefined = from;
  while (at !== undefined && !seen.has(at.address)) {
    seen.add(at.address);
    const causes = causesOf(history, at);
    links.unshift({ session: history.session, happening: at, others: causes.slice(0, -1) });
    at = causes.at(-1);
  }
  return links;
}

async function historyOf(session: string, open: OpenSession): Promise<History | undefined> {
  const source = await open(session);
  return source === undefined ? undefined : new History(await judgeSession(source));
}

/** Follows the causes of an event to where they began. Throws what the sources throw. */
export async function whyOf(history: History, event: Happening, open: OpenSession): Promise<Why> {
  const links = chainIn(history, event);
  const [first] = links;
  const crossing = first === undefined ? undefined : crossingOf(history, first.happening);
  if (crossing === undefined) return { links };
  const other = await historyOf(crossing.session, open);
  const sender = other?.entries.findLast(({ event: { type } }) => crossing.types.includes(type));
  if (other === undefined || sender === undefined) return { links, beyond: crossing };
  return { links: [...chainIn(other, sender), ...links] };
}
