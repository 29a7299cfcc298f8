import type { SeenEvent } from '../../../schemas/event.ts';
import { isDelegated } from '../../../services/chassis/catalog/child-task.ts';
import { poolLogId } from '../../../services/chassis/protocol/ids.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'no more run in a pool than its limits allow, each on a place of its own';

/** As the catalog of the simulation says. */
const narrow = { pool: 'narrow', concurrencyMax: 3 };

const eventsOf = ({ lines }: SessionHistory): readonly SeenEvent[] =>
  lines.flatMap(({ step }) => step.events);

/** The log of the pool never gives more places than there are. */
function overfull(session: SessionHistory): Violation[] {
  if (session.session !== poolLogId(narrow.pool)) return [];
  const held = new Set<string>();
  const found: Violation[] = [];
  for (const event of eventsOf(session)) {
    if (event.type === 'slot.expired') held.delete(`${event.data.session} ${event.data.task}`);
    if (event.type !== 'slot.granted' && event.type !== 'slot.returned') continue;
    for (const { task } of event.data.tasks) {
      const slot = `${event.data.session} ${task}`;
      if (event.type === 'slot.granted') held.add(slot);
      else held.delete(slot);
    }
    if (held.size > narrow.concurrencyMax)
      found.push({ rule, detail: `${session.session}: ${[...held].join(', ')} at once` });
  }
  return found;
}

/** An attempt begins after its place was given, and a session that closed has given all of them back. */
function withoutPlace(session: SessionHistory): Violation[] {
  const places = new Set<string>();
  const found: Violation[] = [];
  for (const event of eventsOf(session)) {
    if (event.type === 'permit.granted')
      for (const { task, attempt } of event.data.tasks) places.add(`${task} ${attempt}`);
    if (event.type === 'permit.returned')
      for (const { task, attempt } of event.data.tasks) places.delete(`${task} ${attempt}`);
    if (event.type !== 'task.scheduled' || event.data.pool !== narrow.pool) continue;
    // It works on the place of who waits for it.
    if (isDelegated(event.data.task)) continue;
    const attempt = `${event.data.task} ${event.data.attempt}`;
    if (!places.has(attempt))
      found.push({ rule, detail: `${session.session}: ${attempt} began without a place` });
  }
  return found;
}

export const poolsKept: Checker = ({ history }) =>
  [...history.sessions.values()].flatMap((session) =>
    session.session.startsWith('pool:') ? overfull(session) : withoutPlace(session),
  );
