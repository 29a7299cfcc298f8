import type { SeenEvent } from '../../../schemas/event.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker } from './violation.ts';

const rule =
  'a goal that wakes a loop is taken by it, or gets a session of its own, and never both';

const eventsOf = ({ lines }: SessionHistory): readonly SeenEvent[] =>
  lines.flatMap(({ step }) => step.events);

/** A session hears of all that were sent to it before it closes, and settles each that came. */
function inSession(events: readonly SeenEvent[]): string[] {
  const came: string[] = [];
  const settled = new Map<number, number>();
  let withdrawn = 0;
  let counted: number | undefined;
  for (const { type, data } of events) {
    if (type === 'session.woken') came.push(data.goalLog);
    if (type === 'wake.withdrawn') withdrawn += 1;
    if (type === 'wake.counted') counted = data.diverted;
    if (type === 'wake.settled') settled.set(data.ordinal, (settled.get(data.ordinal) ?? 0) + 1);
  }
  const opened = events.some(({ type }) => type === 'wake.opened');
  if (!opened || !events.some(({ type }) => type === 'session.closed')) return [];
  const wrong = came.flatMap((goalLog, index) => {
    const times = settled.get(index + 1) ?? 0;
    return times === 1 ? [] : [`${goalLog} came and was settled ${times} times`];
  });
  const sent = came.length + withdrawn;
  return counted === sent ? wrong : [...wrong, `${counted} were sent, and ${sent} came`];
}

function inGoal(events: readonly SeenEvent[]): string[] {
  const times = (wanted: string): number => events.filter(({ type }) => type === wanted).length;
  const [taken, admitted] = [times('goal.taken'), times('goal.admitted')];
  return taken + admitted <= 1 ? [] : [`taken ${taken} times and admitted ${admitted} times`];
}

/** Where a service failed, nobody says what it would have said. */
export const wakesSettled: Checker = ({ history }) =>
  [...history.sessions.values()].flatMap((one) => {
    const events = eventsOf(one);
    if (events.some(({ type }) => type === 'decision.failed')) return [];
    const found = one.session.startsWith('goal_') ? inGoal(events) : inSession(events);
    return found.map((what) => ({ rule, detail: `${one.session}: ${what}` }));
  });
