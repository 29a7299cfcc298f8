/**
 * Errors as the ClickHouse HTTP interface shows them: a number, a name and the text `Code: N.
 * DB::Exception: …`, from which every client parses what went wrong. Errors of the engine keep
 * their own text.
 */
export class EngineException extends Error {
  readonly code: number;
  readonly text: string;
  readonly status: number;

  constructor(code: number, text: string, status: number = statusOf(code)) {
    super(text);
    this.name = 'EngineException';
    this.code = code;
    this.text = text;
    this.status = status;
  }
}

const names = {
  48: 'NOT_IMPLEMENTED',
  62: 'SYNTAX_ERROR',
  73: 'UNKNOWN_FORMAT',
  115: 'UNKNOWN_SETTING',
  117: 'INCORRECT_DATA',
  164: 'READONLY',
  202: 'TOO_MANY_SIMULTANEOUS_QUERIES',
  236: 'ABORTED',
  307: 'TOO_MANY_BYTES',
  344: 'SUPPORT_IS_DISABLED',
  354: 'ZLIB_INFLATE_FAILED',
  497: 'ACCESS_DENIED',
  516: 'AUTHENTICATION_FAILED',
  1002: 'UNKNOWN_EXCEPTION',
} as const;

export type ExceptionCode = keyof typeof names;

/** An error that this server raises itself, in the engine's form. */
export function exception(code: ExceptionCode, message: string): EngineException {
  return new EngineException(code, `Code: ${code}. DB::Exception: ${message}. (${names[code]})`);
}

/** Any thrown thing as an exception; what the engine said is kept word for word. */
export function toException(thrown: unknown): EngineException {
  if (thrown instanceof EngineException) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = /Code: (\d+)\. /.exec(message)?.[1];
  return code === undefined ? exception(1002, message) : new EngineException(Number(code), message);
}

const badRequests = new Set([
  6, 25, 26, 27, 33, 36, 38, 41, 42, 43, 47, 53, 62, 69, 70, 72, 117, 131, 354, 441, 456, 457,
]);
const notFound = new Set([16, 46, 50, 56, 60, 63, 73, 81, 115]);
const other = new Map([
  [48, 501],
  [202, 503],
  [236, 503],
  [307, 413],
  [344, 403],
  [497, 403],
  [516, 403],
]);

function statusOf(code: number): number {
  if (badRequests.has(code)) return 400;
  if (notFound.has(code)) return 404;
  return other.get(code) ?? 500;
}
