/** What a program that asks for work can meet, one class each. All are LongreinErrors: `code`, `fix`, `retryable`. */
import { LongreinError } from '../chassis/errors.ts';
import type { GoalResult } from './result.ts';

/** The base of all that the client throws for reasons of its own. */
export class HarnessError extends LongreinError {
  override name = 'HarnessError';
}

/** The goal does not have the public shape; nothing was sent. Code GOAL_INVALID. */
export class GoalInvalidError extends HarnessError {
  override name = 'GoalInvalidError';
  constructor(message: string, fix: string) {
    super('GOAL_INVALID', message, { fix });
  }
}

/** A cursor is not one, or is another session's. Code CURSOR_INVALID. */
export class CursorInvalidError extends HarnessError {
  override name = 'CursorInvalidError';
  constructor(message: string) {
    super('CURSOR_INVALID', message, {
      fix: 'Give a cursor as `follow` gave it for this session, or none to begin at the start.',
    });
  }
}

/** The brokers have none of our topics. Code STACK_EMPTY. */
export class StackEmptyError extends HarnessError {
  override name = 'StackEmptyError';
  constructor(topic: string, cause: unknown) {
    super('STACK_EMPTY', `the broker has no topic ${topic}`, {
      fix: 'Start the services, which make it: longrein up',
      cause,
    });
  }
}

/** A partition cannot be read on; the goal itself goes on. Code FEED_BROKEN. */
export class FeedBrokenError extends HarnessError {
  override name = 'FeedBrokenError';
  constructor(place: string, cause: Error) {
    super('FEED_BROKEN', `${place} cannot be read: ${cause.message}`, {
      fix: 'Follow it again, with the last cursor: the goal itself goes on.',
      retryable: true,
      cause,
    });
  }
}

/** Nobody waits any more; the goal itself goes on. Code WAIT_ENDED. */
export class WaitEndedError extends HarnessError {
  override name = 'WaitEndedError';
  readonly session: string;
  constructor(session: string, because: string) {
    super('WAIT_ENDED', `${because}; session ${session} goes on`, {
      fix: 'Follow the session again to see how it ends, or cancel it.',
      retryable: true,
    });
    this.session = session;
  }
}

/** The harness was closed. Code HARNESS_CLOSED. */
export class HarnessClosedError extends HarnessError {
  override name = 'HarnessClosedError';
  constructor() {
    super('HARNESS_CLOSED', 'the harness was closed', { fix: 'Make a new Harness.' });
  }
}

/** A goal that did not complete. `result` is the public result; `code` is the one of its error. */
export class GoalEndedError extends HarnessError {
  override name = 'GoalEndedError';
  readonly result: GoalResult;

  constructor(result: GoalResult) {
    const { error, status, session } = result;
    const said = error === undefined ? '' : `: ${error.message}`;
    const fix = error?.fix ?? `See what led to it: longrein session show ${session}`;
    super(error?.code ?? status.toUpperCase(), `the goal ${wordOf[status]}${said}`, { fix });
    this.result = result;
  }
}

const wordOf = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
  rejected: 'was rejected',
} as const;

/** It was never taken up: `result.error` names the field and the fix. */
export class GoalRejectedError extends GoalEndedError {
  override name = 'GoalRejectedError';
}

/** Its session failed; `result.error.task` names the task, where it was one. */
export class GoalFailedError extends GoalEndedError {
  override name = 'GoalFailedError';
}

/** Somebody called it off. */
export class GoalCancelledError extends GoalEndedError {
  override name = 'GoalCancelledError';
}

/** The error of a result that is not `completed`. */
export function endingOf(result: GoalResult): GoalEndedError {
  if (result.status === 'rejected') return new GoalRejectedError(result);
  if (result.status === 'cancelled') return new GoalCancelledError(result);
  return new GoalFailedError(result);
}
