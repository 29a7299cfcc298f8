/** Requests and outcomes for tests of providers. */

import type {
  ModelCompleted,
  ModelFailure,
  ModelOutcome,
  ModelRequest,
} from '../../services/model-gateway/providers/port.ts';

/** A time that tests agree on; deadlines are counted from it. */
export const testNowMs = Date.UTC(2026, 10, 1);

/** A plain request with `changes`. */
export function requestOf(changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    callId: 'session:1/call:2',
    model: 'openai/gpt-4o',
    messages: [
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: 'How many?' },
    ],
    tools: [],
    outputTokensMax: 200,
    signal: new AbortController().signal,
    deadlineAtMs: testNowMs + 60_000,
    ...changes,
  };
}

/** The answer in `outcome`; fails the test if there is none. */
export function completedOf(outcome: ModelOutcome): ModelCompleted {
  if (outcome.kind === 'completed') return outcome;
  throw new Error(`failed with ${outcome.error.code}: ${outcome.error.message}`);
}

/** The failure in `outcome`; fails the test if there is none. */
export function failureOf(outcome: ModelOutcome): ModelFailure {
  if (outcome.kind === 'failed') return outcome.error;
  throw new Error('completed, though a failure was expected');
}
