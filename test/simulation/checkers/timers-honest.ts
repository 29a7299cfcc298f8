import type { SeenEvent } from '../../../schemas/event.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'a timer fires once for its newest setting, and not before it is due';

type Settings = Map<string, SeenEvent<'timer.set'>>;

function problemOf(fired: SeenEvent<'timer.fired'>, settings: Settings): string | undefined {
  const { timer, record, index } = fired.data;
  const setting = settings.get(timer);
  if (setting === undefined) return 'nobody waits for it';
  if (setting.record !== record || setting.index !== index) return 'it was set again';
  const earlyMs = setting.data.dueAtMs - fired.atMs;
  return earlyMs > 0 ? `${earlyMs} ms early` : undefined;
}

/** From the events alone, not from what the protocol's own fold makes of them. */
export const timersHonest: Checker = ({ history }) => {
  const found: Violation[] = [];
  for (const { session, lines } of history.sessions.values()) {
    const settings: Settings = new Map();
    for (const { step, topic, partition, offset } of lines) {
      for (const event of step.events) {
        if (event.type === 'timer.set') settings.set(event.data.timer, event);
        if (event.type === 'timer.cancelled') settings.delete(event.data.timer);
        if (event.type !== 'timer.fired') continue;
        const problem = problemOf(event, settings);
        settings.delete(event.data.timer);
        const at = `${topic}/${partition}@${offset} ${session}`;
        if (problem !== undefined)
          found.push({ rule, detail: `${at}: timer ${event.data.timer} fired, and ${problem}` });
      }
    }
  }
  return found;
};
