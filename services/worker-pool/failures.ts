/** What events say about failures, in the one form that an agent and its task are ended with. */

import { type SeenEvent, textOf } from '../../schemas/event.ts';
import { LongreinError } from '../chassis/errors.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import type { Failure, FailureClass, ModelFailure } from './state.ts';

export type ToolFailureEvent = SeenEvent<'tool.failed' | 'tool.denied' | 'tool.unknown'>;

/**
 * A tool call that did not give a result. One that nobody saw end is not retryable: it may have
 * happened.
 */
export function failureOf(seen: ToolFailureEvent): Failure {
  const message = textOf(seen.content.message);
  switch (seen.type) {
    case 'tool.failed': {
      const { code, class: kind, retryable } = seen.data;
      return { code, class: kind, retryable, message };
    }
    case 'tool.denied':
      return { code: seen.data.code, class: 'denied', retryable: false, message };
    case 'tool.unknown':
      return { code: 'OUTCOME_UNKNOWN', class: 'unknown-outcome', retryable: false, message };
  }
}

const denialClasses: Readonly<Record<string, FailureClass>> = {
  BUDGET_EXHAUSTED: 'budget',
  RUNNER_LOST: 'crashed',
  CALL_CANCELLED: 'cancelled',
};

function malformed(): Failure {
  const message =
    'The model gateway recorded an answer that is not a message with text and tool calls.';
  return { code: 'ANSWER_MALFORMED', class: 'provider-error', retryable: false, message };
}

/** A model call without an answer, or with one that cannot be read. */
export function modelFailureOf(
  seen: SeenEvent<'model.failed' | 'model.denied' | 'model.completed'>,
): ModelFailure {
  const address = addressOf(seen);
  if (seen.type === 'model.completed') return { ...malformed(), retryAfterMs: 0, address };
  const message = textOf(seen.content.message);
  if (seen.type === 'model.denied') {
    const { code, class: said } = seen.data;
    const kind = said ?? denialClasses[code] ?? 'invalid-request';
    return { code, class: kind, retryable: false, message, retryAfterMs: 0, address };
  }
  const { code, class: kind, retryable, retryAfterMs } = seen.data;
  return { code, class: kind, retryable, message, retryAfterMs: retryAfterMs ?? 0, address };
}

/**
 * An expression of the agent that failed. Anything else thrown is a fault of the program and goes
 * on.
 */
export function expressionFailure(thrown: unknown): Failure {
  if (!(thrown instanceof LongreinError)) throw thrown;
  const message = thrown.fix === undefined ? thrown.message : `${thrown.message}. ${thrown.fix}`;
  return { code: thrown.code, class: 'expression', retryable: false, message };
}
