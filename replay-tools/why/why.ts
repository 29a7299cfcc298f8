import { causesOf } from '../read/causes.ts';
import { type Happening, History } from '../read/history.ts';
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

/** The events of another log that write into the session: of its goal log, of its parent, of its child. */
const senders: Readonly<Record<string, Readonly<{ goal?: string; parent?: string }>>> = {
  'session.opened': { goal: 'goal.admitted', parent: 'child.opened' },
  'session.cancel-requested': { goal: 'goal.cancel-forwarded', parent: 'child.cancelled' },
  'session.signalled': { goal: 'goal.signal-forwarded' },
};

/** Where an input came from that another log sent here. */
function crossingOf(history: History, input: Happening): Crossing | undefined {
  const { event } = input;
  if (event.type === 'child.ended')
    return { session: event.data.child, types: ['result.published', 'result.replaced'] };
  const sender = senders[event.type];
  const opening = history.ofType('session.opened')[0]?.event;
  if (sender === undefined || opening?.type !== 'session.opened') return undefined;
  const { goalLog, parent } = opening.data;
  const type = parent === undefined ? sender.goal : sender.parent;
  return type === undefined ? undefined : { session: parent?.session ?? goalLog, types: [type] };
}

/** What a parent says of several children is told apart by their ids. */
const isAbout = ({ event }: Happening, session: string): boolean =>
  !('child' in event.data) || event.data.child === session;

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
  const sender = other?.entries.findLast(
    (one) => crossing.types.includes(one.event.type) && isAbout(one, history.session),
  );
  if (other === undefined || sender === undefined) return { links, beyond: crossing };
  const before = await whyOf(other, sender, open);
  return { ...before, links: [...before.links, ...links] };
}
