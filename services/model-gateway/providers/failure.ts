import { APICallError } from 'ai';
import { bodyErrorOf } from './body-error.ts';
import { causeFailure } from './cause-failure.ts';
import type { FailureKind } from './failure-kind.ts';
import type { ModelFailure } from './port.ts';
import { redact } from './redaction.ts';
import { retryAfterMs } from './retry-after.ts';

/**
 * Sorts what went wrong into the classes that policy decides on: by status code, machine-readable
 * error code and the code of the cause. Never by the words of a message, which providers change at
 * will.
 */

/** Who failed, and what must not be shown. */
export type FailureContext = Readonly<{
  provider: string;
  model: string;
  secrets: readonly string[];
  keyVariable?: string | undefined;
  nowMs(): number;
}>;

/** The failure that `thrown` means. Never throws. */
export function modelFailureOf(thrown: unknown, context: FailureContext): ModelFailure {
  const call = APICallError.isInstance(thrown) ? thrown : undefined;
  const body = bodyErrorOf(call?.responseBody);
  // Some routers answer 200 and put the status of the failure into the body.
  const failedStatus = body.status ?? call?.statusCode;
  const status = failedStatus === undefined || failedStatus < 300 ? undefined : failedStatus;
  const kind = kindOf(status, body.codes, context) ?? causeFailure(thrown) ?? badAnswer;
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  const answered = status === undefined ? 'failed' : `answered ${status}`;
  const waitMs = retryAfterMs(call?.responseHeaders ?? {}, context.nowMs());
  return {
    code: kind.code,
    class: kind.class,
    retryable: kind.retryable,
    message: `${context.provider} ${answered}: ${redact(said, context.secrets)}`,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    ...(kind.fix === undefined ? {} : { fix: kind.fix }),
  };
}

const badAnswer: FailureKind = {
  code: 'MODEL_BAD_ANSWER',
  class: 'provider-error',
  retryable: true,
  fix: 'Check that the base URL belongs to a server that speaks this protocol.',
};

const quotaCodes = new Set(['insufficient_quota', 'billing_hard_limit_reached']);
const filterCodes = new Set(['content_filter', 'content_policy_violation']);

function kindOf(
  status: number | undefined,
  codes: readonly string[],
  context: FailureContext,
): FailureKind | undefined {
  if (codes.includes('context_length_exceeded')) return tooLong;
  if (codes.some((code) => filterCodes.has(code))) return filtered;
  if (codes.some((code) => quotaCodes.has(code)) || status === 402) return quota;
  if (codes.includes('overloaded_error')) return overloaded;
  if (status === 401 || status === 403) return authentication(context);
  if (status === 404) return notFound(context);
  return status === undefined ? undefined : (kindOfStatus.get(status) ?? kindOfRange(status));
}

const tooLong: FailureKind = {
  code: 'MODEL_CONTEXT_TOO_LONG',
  class: 'context-too-long',
  retryable: false,
  fix: 'Give the agent less context, or choose a model with a larger window.',
};
const filtered: FailureKind = {
  code: 'MODEL_CONTENT_FILTER',
  class: 'content-filter',
  retryable: false,
  fix: 'Change what is asked, or choose another model.',
};
const quota: FailureKind = {
  code: 'MODEL_QUOTA_EXHAUSTED',
  class: 'rate-limited',
  retryable: false,
  fix: 'Raise the limit of the account at the provider, or choose another provider.',
};
const overloaded: FailureKind = {
  code: 'MODEL_OVERLOADED',
  class: 'overloaded',
  retryable: true,
};
const timedOut: FailureKind = { code: 'MODEL_TIMEOUT', class: 'timeout', retryable: true };
const unavailable: FailureKind = {
  code: 'MODEL_UNAVAILABLE',
  class: 'unavailable',
  retryable: true,
};

const kindOfStatus = new Map<number, FailureKind>([
  [408, timedOut],
  [413, tooLong],
  [429, { code: 'MODEL_RATE_LIMITED', class: 'rate-limited', retryable: true }],
  [502, unavailable],
  [503, overloaded],
  [504, timedOut],
  [529, overloaded],
]);

function kindOfRange(status: number): FailureKind {
  if (status >= 500 || status === 409 || status === 425) {
    return { code: 'MODEL_PROVIDER_ERROR', class: 'provider-error', retryable: true };
  }
  if (status < 400) return { ...badAnswer, retryable: false };
  return {
    code: 'MODEL_INVALID_REQUEST',
    class: 'invalid-request',
    retryable: false,
    fix: 'Read what the provider said, and correct the agent, its tools or the choice of model.',
  };
}

function authentication(context: FailureContext): FailureKind {
  const key = context.keyVariable;
  const fix = key === undefined ? 'Give this provider a key.' : `Set ${key} to a valid key.`;
  return { code: 'MODEL_AUTHENTICATION', class: 'authentication', retryable: false, fix };
}

function notFound(context: FailureContext): FailureKind {
  const fix = `Check the name ${context.model} and the base URL of ${context.provider}.`;
  return { code: 'MODEL_NOT_FOUND', class: 'invalid-request', retryable: false, fix };
}
