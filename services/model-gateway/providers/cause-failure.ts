/**
 * Sorts failures without an HTTP status: the connection, the certificate, or the request itself.
 */

import {
  InvalidPromptError,
  LoadAPIKeyError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from 'ai';
import { LongreinError } from '../../chassis/errors.ts';
import { CannotEmbed } from './embedding.ts';
import type { FailureKind } from './failure-kind.ts';
import { StreamCut } from './streamed.ts';

const chainLengthMax = 8;
const timeoutCodes = new Set([
  ...['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'],
]);
const networkCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'UND_ERR_SOCKET', 'UND_ERR_CLOSED'],
]);
const certificateCode = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/;

/** The kind of failure that the causes of `thrown` tell, or undefined if they tell nothing. */
export function causeFailure(thrown: unknown): FailureKind | undefined {
  if (LoadAPIKeyError.isInstance(thrown)) {
    return { code: 'MODEL_AUTHENTICATION', class: 'authentication', retryable: false };
  }
  if (thrown instanceof CannotEmbed) {
    const fix = 'Name a model of a server of OpenAI’s protocol.';
    return { code: 'MODEL_CANNOT_EMBED', class: 'invalid-request', retryable: false, fix };
  }
  if (thrown instanceof StreamCut) {
    return { code: 'MODEL_STREAM_CUT', class: 'provider-error', retryable: true };
  }
  if (isRefusedHere(thrown)) {
    return { code: 'MODEL_INVALID_REQUEST', class: 'invalid-request', retryable: false };
  }
  return codesOf(thrown)
    .map(kindOfCode)
    .find((kind) => kind !== undefined);
}

function isRefusedHere(thrown: unknown): boolean {
  return (
    thrown instanceof LongreinError ||
    InvalidPromptError.isInstance(thrown) ||
    NoSuchModelError.isInstance(thrown) ||
    UnsupportedFunctionalityError.isInstance(thrown)
  );
}

function kindOfCode(code: string): FailureKind | undefined {
  if (timeoutCodes.has(code)) return { code: 'MODEL_TIMEOUT', class: 'timeout', retryable: true };
  const unavailable = { code: 'MODEL_UNAVAILABLE', class: 'unavailable' } as const;
  if (networkCodes.has(code)) {
    const fix = 'Check that the base URL is right and can be reached from here.';
    return { ...unavailable, retryable: true, fix };
  }
  if (!certificateCode.test(code)) return undefined;
  const fix = 'Let this host trust the certificate (NODE_EXTRA_CA_CERTS), or correct the base URL.';
  return { ...unavailable, retryable: false, fix };
}

function codesOf(thrown: unknown): string[] {
  const codes: string[] = [];
  let next: unknown = thrown;
  for (let link = 0; link < chainLengthMax && next instanceof Error; link += 1) {
    const code: unknown = Reflect.get(next, 'code');
    if (typeof code === 'string') codes.push(code);
    next = next.cause;
  }
  return codes;
}
