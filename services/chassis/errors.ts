/**
 * The one error base. A code says what kind it is (never the text), `fix` says what the reader can do,
 * `retryable` says whether the same call may succeed later without a change.
 */
export class LongreinError extends Error {
  readonly code: string;
  readonly fix: string | undefined;
  readonly retryable: boolean;

  constructor(
    code: string,
    message: string,
    options: { fix?: string; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LongreinError';
    this.code = code;
    this.fix = options.fix;
    this.retryable = options.retryable ?? false;
  }
}

/** A broken invariant of the program itself: the process must not go on. */
export class InvariantError extends LongreinError {
  constructor(message: string, cause?: unknown) {
    super('INVARIANT', message, { cause });
    this.name = 'InvariantError';
  }
}

/** Any thrown thing as an Error, without losing what it said. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(typeof thrown === 'string' ? thrown : JSON.stringify(thrown));
}
