import { LongreinError } from '../errors.ts';
import type { AppendFailure } from './port.ts';

/** A failed append, told apart by what is known of the records. */
export class AppendError extends LongreinError {
  readonly failure: AppendFailure;

  constructor(failure: AppendFailure, message: string, cause?: unknown) {
    super(failure === 'refused' ? 'APPEND_REFUSED' : 'APPEND_UNCERTAIN', message, {
      retryable: failure === 'uncertain',
      cause,
    });
    this.name = 'AppendError';
    this.failure = failure;
  }
}
