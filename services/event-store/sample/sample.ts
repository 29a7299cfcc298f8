import { decodeRecord } from '../decoded-record.ts';
import { rowsOf } from '../judgement.ts';
import { SessionFold } from '../partition-fold.ts';
import type { EventRow } from '../row.ts';
import { deployDay, releases } from './company.ts';
import { createDice } from './dice.ts';
import { Script, sampleTopic } from './script.ts';
import { tellSession } from './story.ts';

/** Which sample: the same options give the same rows. */
export type SampleOptions = Readonly<{
  /** Midnight UTC after its last day, in milliseconds since 1970. */
  untilMs: number;
  days?: number;
  sessionsPerDay?: number;
  seed?: number;
}>;

/** So many sessions of the last day have not ended. */
const running = 3;
const dayMs = 86_400_000;

/**
 * Rows of a month of a company that is not real, judged by the same code as rows of a real log:
 * goals with labels and value, tasks that are tried again, calls that fail, a deploy, a slow
 * provider, loops, late answers.
 */
export function sampleRows(options: SampleOptions): readonly EventRow[] {
  const { untilMs, days = 30, sessionsPerDay = 14, seed = 8 } = options;
  const dice = createDice(seed);
  const fromMs = untilMs - days * dayMs;
  const script = new Script(fromMs);
  for (let day = 0; day < days; day += 1) {
    for (let count = 0; count < sessionsPerDay; count += 1) {
      const openedAtMs = fromMs + day * dayMs + dice.between(6 * 3_600_000, 20 * 3_600_000);
      const release = day < deployDay ? releases.before : releases.after;
      const number = day * sessionsPerDay + count;
      const runs = day === days - 1 && count >= sessionsPerDay - running;
      tellSession({ script, dice, number, openedAtMs, release, runs });
    }
  }
  return judged(script);
}

function judged({ records }: Script): readonly EventRow[] {
  const fold = new SessionFold(
    { topic: sampleTopic, partition: 0 },
    { acceptance: {}, closed: [] },
  );
  return records.flatMap((log) => {
    const decoded = decodeRecord(log);
    return rowsOf({ log, header: decoded.header, judgement: fold.judge(decoded) });
  });
}
