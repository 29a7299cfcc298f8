import { refusedForNow } from '../../../services/chassis/host/persistence.ts';
import { poisonsOf } from '../world/poison.ts';
import type { Schedule } from '../world/schedule-shape.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'nothing fails that the faults do not explain';

/** Errors that a fault of the schedule explains. */
const explained: ReadonlySet<string> = new Set([
  'append refused',
  'delivery refused for good; closed as refused',
]);

/** Where rights come and go, what is not numbered waits. */
const isDenied = (message: string, { denied = 0 }: Schedule): boolean =>
  message === refusedForNow && denied > 0;

const unreadable = 'record cannot be read; every reader ignores it';

/** A record that cannot be read is explained where an unreadable record stands. */
function isExplained(message: string, fields: object, strange: ReadonlySet<string>): boolean {
  if (message !== unreadable) return explained.has(message);
  const { topic, partition, offset } = fields as Record<string, unknown>;
  return strange.has(`${topic}/${partition}@${offset}`);
}

const givenUp = 'poison: not decided any more';

export const noSurprises: Checker = (run) => {
  const { lines, fatal, history, poisoned, coverage } = run;
  const poisons = poisonsOf(run.schedule);
  const found: Violation[] = fatal.map((error) => ({ rule, detail: `fatal: ${error.message}` }));
  for (const { host, lines: own } of lines) {
    for (const { level, message, fields } of own) {
      if (level !== 'error' || isExplained(message, fields, poisoned)) continue;
      if (isDenied(message, run.schedule)) continue;
      const { code, session = '', service } = fields as Record<string, string | undefined>;
      if (message === givenUp && poisons.get(session) === service) continue;
      // Somebody who read slowly was overtaken by a janitor: it starts again from its marks.
      if (code === 'OFFSET_OUT_OF_RANGE' && run.trims.length > 0) continue;
      if (code === 'LOG_GAP' && coverage.has('fault record lost in reading')) continue;
      found.push({ rule, detail: `${host}: ${message} ${JSON.stringify(fields)}` });
    }
  }
  for (const { step, topic, offset } of history.lines) {
    const { session } = step.core.meta;
    for (const event of step.events) {
      if (event.type !== 'decision.failed') continue;
      if (event.data.code === 'POISON' && poisons.get(session) === event.data.service) continue;
      const said = String(event.content.message?.body ?? '');
      found.push({ rule, detail: `${topic}@${offset}: ${event.data.service} failed: ${said}` });
    }
  }
  return found;
};
