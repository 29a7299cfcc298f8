import { effectsInLedger } from './effects-in-ledger.ts';
import type { Evidence, Violation } from './evidence.ts';
import { oneResult } from './one-result.ts';
import { sessionsVerified } from './sessions-verified.ts';

/** All that must hold of results, side effects and log after a run in which every goal was to end. */
export async function logViolations(evidence: Evidence): Promise<readonly Violation[]> {
  return [
    ...oneResult(evidence),
    ...effectsInLedger(evidence),
    ...(await sessionsVerified(evidence)),
  ];
}
