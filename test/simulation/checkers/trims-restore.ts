import { toError } from '../../../services/chassis/errors.ts';
import type { TrimSeen } from '../world/archive.ts';
import { note } from '../world/coverage.ts';
import { type Dice, diceOf } from '../world/dice.ts';
import type { Run } from '../world/run-outcome.ts';
import { ownerStates } from './owner-states.ts';
import { MarksAt, restored } from './restoring.ts';
import type { Violation } from './violation.ts';
import { forgotten } from './watermarks-restore.ts';

const rule = 'nothing is deleted that a restore needs';

/** What a service of a host finds that starts just then, or goes on for a while. */
async function startAfter(
  run: Run,
  trim: TrimSeen,
  by: { marks: MarksAt; dice: Dice },
): Promise<string[]> {
  const { topic, partition, below } = trim;
  const end = run.logs.get(`${topic}/${partition}`)?.length ?? 0;
  const high = by.dice.chance(0.5) ? trim.high : by.dice.between(trim.high, end);
  const all = [...run.logics].flatMap(([name, { topics }]) =>
    topics.includes(topic) ? [name] : [],
  );
  const services = by.dice.chance(0.8) ? all : [by.dice.pick(all)];
  const bounds = { low: below, high };
  const restore = { at: trim, services, bounds };
  try {
    const { seen, closed } = await restored(run, by.marks, restore);
    if (seen === undefined) return ['the partition did not catch up'];
    note(run.coverage, 'restored after a deletion');
    const wrong = ownerStates({ ...run, seen: [{ ...seen, host: 'restored' }] });
    const lost = forgotten(run, trim, high, closed).map((one) => `${one} closed and is forgotten`);
    return [...wrong.map(({ detail }) => detail), ...lost];
  } catch (thrown) {
    return [`${services.join()}: ${toError(thrown).message}`];
  }
}

/**
 * Starts services right after janitors have deleted something, from the marks and trims of that moment: what they hold
 * must equal the fold of the whole log.
 */
export async function trimsRestore(run: Run, countMax: number): Promise<Violation[]> {
  const dice = diceOf('trims', run.schedule.seed);
  const share = Math.min(1, countMax / Math.max(1, run.trims.length));
  const found: Violation[] = [];
  const marks = new MarksAt(run.codec);
  let taken = 0;
  for (const trim of run.trims) {
    for (const record of run.watermarks.slice(taken, trim.marks)) marks.take(record);
    taken = Math.max(taken, trim.marks);
    if (!dice.chance(share)) continue;
    const place = `${trim.topic}/${trim.partition} below ${trim.below}`;
    for (const detail of await startAfter(run, trim, { marks, dice }))
      found.push({ rule, detail: `${place}: ${detail}` });
  }
  return found;
}
