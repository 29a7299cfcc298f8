import type { LedgerEntry } from '../world/effects.ts';
import type { Line } from '../world/history.ts';
import { type CallInLog, callsOf } from './effects.ts';
import type { Checker } from './violation.ts';

const rule = 'no effect runs without a permit and a claim before it in the log';

const isBefore = (line: Line, { ends }: LedgerEntry): boolean =>
  line.offset < (ends.get(`${line.topic}/${line.partition}`) ?? 0);

function missing(entry: LedgerEntry, call: CallInLog | undefined): string | undefined {
  if (call?.allowed === undefined || !isBefore(call.allowed, entry)) return 'a permit';
  return call.claims.some((claim) => isBefore(claim, entry)) ? undefined : 'a claim';
}

export const effectsPermitted: Checker = (run) => {
  const calls = callsOf(run);
  return run.ledger.flatMap((entry) => {
    const lacks = missing(entry, calls.get(entry.call));
    if (lacks === undefined) return [];
    return [
      { rule, detail: `${entry.call} ran on ${entry.host} at ${entry.atMs} without ${lacks}` },
    ];
  });
};
