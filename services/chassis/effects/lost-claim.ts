import type { DecideInput, LostReason } from '../protocol/service-logic.ts';

/** How often a call that may be repeated is claimed in all. */
export const claimsMax = 3;

/**
 * Why the claim that a state knows as the newest has no runner, or undefined. A loss that is about
 * an older claim was answered already.
 */
export function lostReason(
  input: Pick<DecideInput, 'lost' | 'openCalls'>,
  call: string,
  claim: string,
): LostReason | undefined {
  const open = input.openCalls[call];
  if (open === undefined || open.status !== 'claimed' || open.claim !== claim) return undefined;
  return input.lost[call];
}
