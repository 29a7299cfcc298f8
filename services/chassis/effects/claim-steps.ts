/**
 * What a runner of tools has to write now: claims, claims anew, and what nobody will ever know.
 * K1-K3 of tool-claims.
 */

import { type DataOf, type Draft, event, text } from '../../../schemas/event.ts';
import { claimsOf, isCancelled } from '../../../state-machines/tool-call/tool-call-machine.ts';
import type { DecideInput, LostReason } from '../protocol/service-logic.ts';
import { claimsMax, lostReason } from './lost-claim.ts';
import { sortedEntries } from './member.ts';
import type { ToolCallEntry, ToolClaims } from './tool-claims.ts';

/** What is due for one call. */
export type ClaimStep =
  | Readonly<{ kind: 'claim'; call: string; data: DataOf<'tool.claimed'> }>
  | Readonly<{ kind: 'unknown'; call: string; data: DataOf<'tool.unknown'> }>;

function claimStep(call: string, entry: ToolCallEntry, nowMs: number): ClaimStep {
  const attempt = claimsOf(entry.machine) + 1;
  const deadlineAtMs = nowMs + entry.timeoutMs;
  return { kind: 'claim', call, data: { call, tool: entry.tool, attempt, deadlineAtMs } };
}

function lostStep(call: string, entry: ToolCallEntry, at: LostAt): ClaimStep {
  const attempt = claimsOf(entry.machine);
  const mayRepeat = entry.effect !== 'at-most-once' && !isCancelled(entry.machine);
  if (mayRepeat && attempt < claimsMax) return claimStep(call, entry, at.nowMs);
  const data = { call, tool: entry.tool, attempt, because: at.because };
  return { kind: 'unknown', call, data };
}

type LostAt = Readonly<{ because: LostReason; nowMs: number }>;

/**
 * What is due now, in an order that only depends on the calls. Nothing twice: the state knows what
 * was claimed.
 */
export function dueClaims(state: ToolClaims, input: DecideInput): readonly ClaimStep[] {
  const { nowMs } = input;
  const due: ClaimStep[] = [];
  for (const [call, entry] of sortedEntries(state.calls)) {
    if (entry.machine.value === 'permitted') due.push(claimStep(call, entry, nowMs));
    if (entry.machine.value !== 'claimed') continue;
    const because = lostReason(input, call, entry.claim);
    if (because !== undefined) due.push(lostStep(call, entry, { because, nowMs }));
  }
  return due;
}

const reasons: Readonly<Record<LostReason, string>> = {
  'runner-gone': 'Whoever ran it is gone, and nobody saw how it ended',
  deadline: 'Its deadline passed without an answer',
};

/** The event of a step. */
export function claimDraft(step: ClaimStep): Draft {
  if (step.kind === 'claim') return event('tool.claimed', step.data);
  const { tool, because, attempt } = step.data;
  const tries = attempt > 1 ? ` (attempt ${attempt})` : '';
  const message =
    `The call of ${tool}${tries} may have happened. ${reasons[because]}; it is not run again. ` +
    'Look at what the tool acts on before asking for it once more.';
  return event('tool.unknown', step.data, { message: text(message) });
}
