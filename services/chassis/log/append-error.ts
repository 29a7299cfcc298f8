import { LongreinError } from '../errors.ts';
import type { AppendFailure, Refusal } from './port.ts';

/** A failed append, told apart by what is known of the records. */
export class AppendError extends LongreinError {
  readonly failure: AppendFailure;
  /** Why it was refused; undefined where it is uncertain. */
  readonly refusal: Refusal | undefined;

  constructor(known: 'uncertain' | Refusal, message: string, cause?: unknown) {
    const uncertain = known === 'uncertain';
    super(uncertain ? 'APPEND_UNCERTAIN' : 'APPEND_REFUSED', message, {
      retryable: uncertain,
      cause,
    });
    this.name = 'AppendError';
    this.failure = uncertain ? 'uncertain' : 'refused';
    this.refusal = uncertain ? undefined : known;
  }

  /** Refused for now: the very same records may be taken once somebody has mended what refuses them. */
  get mendable(): boolean {
    return this.refusal === 'not-allowed';
  }
}
