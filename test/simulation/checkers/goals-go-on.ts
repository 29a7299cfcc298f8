import { decideEntry, noFacts } from '../../../services/chassis/protocol/decision.ts';
import type { History, Line, SessionHistory } from '../world/history.ts';
import type { Checker } from './violation.ts';

const rule = 'a goal has ended, or something is under way that will end it';

/** Whether a service would decide or deliver something now. */
function isDue(history: History, line: Line, session: SessionHistory): boolean {
  return history.servicesOf(session.topic).some((service) => {
    const logic = history.logicOf(service);
    const view = { service, session: session.session };
    const entry = history.entryBefore(view, line.offset + 1);
    if (logic === undefined || entry === undefined) return false;
    if (Object.keys(entry.outbox).length > 0) return true;
    return decideEntry(logic, entry, noFacts(line.step.core.last.atMs)).length > 0;
  });
}

const answersOfOthers: ReadonlySet<string> = new Set([
  ...['budget.granted', 'budget.refused', 'child.ended'],
]);

/** Attempts that wait for a place in a pool, after this line. */
function waitForPlaces(asked: Set<string>, { step }: Line): void {
  for (const event of step.events) {
    const tasks = (all: readonly { task: string }[]) => all.map(({ task }) => task);
    if (event.type === 'permit.requested')
      for (const task of tasks(event.data.tasks)) asked.add(task);
    if (event.type === 'permit.granted' || event.type === 'permit.returned')
      for (const task of tasks(event.data.tasks)) asked.delete(task);
  }
}

/** Goals that the key log has sent to wake a loop and that did not come yet; the count itself while it is asked for. */
function waitForWakes(wakes: WakesAwaited, { step }: Line): void {
  for (const event of step.events) {
    if (event.type === 'wake.closed') wakes.asked = true;
    if (event.type === 'session.woken' || event.type === 'wake.withdrawn') wakes.arrived += 1;
    if (event.type === 'wake.counted')
      Object.assign(wakes, { asked: false, expected: event.data.diverted });
  }
}

type WakesAwaited = { asked: boolean; expected: number; arrived: number };

const isAwaited = ({ asked, expected, arrived }: WakesAwaited): boolean =>
  asked || expected > arrived;

/** How much more, or less, it waits for budget logs and child sessions after this line. */
const waitsMore = ({ step }: Line): number =>
  step.events.reduce((sum, { type }) => {
    if (type === 'budget.requested' || type === 'child.opened') return sum + 1;
    return answersOfOthers.has(type) ? sum - 1 : sum;
  }, 0);

/**
 * At every place of the log, not only at its end: an open session of a goal has a timer, an open call (its deadline ends
 * it), a delivery, a question that another log is to answer, or a decision that is due.
 */
export const goalsGoOn: Checker = ({ history }) =>
  [...history.sessions.values()]
    .filter(({ session }) => session.startsWith('ses_'))
    .flatMap((session) => {
      let waiting = 0;
      const asked = new Set<string>();
      const wakes: WakesAwaited = { asked: false, expected: 0, arrived: 0 };
      return session.lines.flatMap((line) => {
        waiting += waitsMore(line);
        waitForPlaces(asked, line);
        waitForWakes(wakes, line);
        const { core } = line.step;
        if (waiting > 0 || asked.size > 0 || isAwaited(wakes)) return [];
        if (core.status !== 'open' || Object.keys(core.timers).length > 0) return [];
        if (Object.keys(core.calls).length > 0 || isDue(history, line, session)) return [];
        const detail = `${session.session} in ${line.topic}/${line.partition} waits for nothing after @${line.offset}`;
        return [{ rule, detail }];
      });
    });
