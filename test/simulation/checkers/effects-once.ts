import { callsOf } from './effects.ts';
import type { Checker } from './violation.ts';

const rule = 'no effect runs more often than its class and its claims allow';

/** At most once: one run whatever happens. Others: one run a claim. */
export const effectsOnce: Checker = (run) => {
  const calls = callsOf(run);
  const starts = new Map<string, number>();
  for (const { call } of run.ledger) starts.set(call, (starts.get(call) ?? 0) + 1);
  return [...starts].flatMap(([call, count]) => {
    const inLog = calls.get(call);
    const most = inLog?.effect === 'at-most-once' ? 1 : (inLog?.claims.length ?? 0);
    if (count <= most) return [];
    const detail = `${call} (${inLog?.effect ?? 'not in the log'}) ran ${count} times, ${most} allowed`;
    return [{ rule, detail }];
  });
};
