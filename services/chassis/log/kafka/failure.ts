/** What the errors of kafkajs and the error codes of brokers mean to us. */
import { LongreinError, toError } from '../../errors.ts';
import type { Refusal } from '../port.ts';
import { internals } from './internals.ts';

/** A broker answered with an error code. `type` is Kafka's name of it. */
export class BrokerAnswerError extends LongreinError {
  readonly type: string;

  constructor(type: string, message: string, retryable: boolean) {
    super(`KAFKA_${type}`, message, { retryable });
    this.name = 'BrokerAnswerError';
    this.type = type;
  }
}

/**
 * Errors after which it is known that the records were not written, and why. Rights and policies are
 * somebody's to mend; so is a clock that is wrong (INVALID_TIMESTAMP).
 */
const REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  ['MESSAGE_TOO_LARGE', 'too-large'],
  ['RECORD_LIST_TOO_LARGE', 'too-large'],
  ['INVALID_RECORD', 'invalid'],
  ['INVALID_TIMESTAMP', 'not-allowed'],
  ['INVALID_TOPIC_EXCEPTION', 'invalid'],
  ['INVALID_REQUIRED_ACKS', 'invalid'],
  ['TOPIC_AUTHORIZATION_FAILED', 'not-allowed'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'not-allowed'],
  ['UNSUPPORTED_FOR_MESSAGE_FORMAT', 'invalid'],
  ['UNSUPPORTED_COMPRESSION_TYPE', 'invalid'],
  ['POLICY_VIOLATION', 'not-allowed'],
]);

/** The error for a code in an answer; `about` says which topic, partition or group it concerns. */
export function brokerAnswerError(code: number, about: string): BrokerAnswerError {
  const { type, message, retriable } = internals.createErrorFromCode(code);
  return new BrokerAnswerError(type, `${about}: ${message} (${type})`, retriable);
}

/** Throws what `brokerAnswerError` makes of the code, unless it is 0. */
export function throwIfFailed(code: number, about: string): void {
  if (code !== 0) throw brokerAnswerError(code, about);
}

/** Kafka's name of the error, when a broker sent it. */
export function answerType(error: unknown): string | undefined {
  return error instanceof BrokerAnswerError ? error.type : undefined;
}

export function appendFailureOf(type: string): 'uncertain' | Refusal {
  return REFUSALS.get(type) ?? 'uncertain';
}

/** Wrong credentials, as opposed to a broker that cannot be reached. */
export function isAuthenticationFailure(error: unknown): boolean {
  if (error instanceof LongreinError) return error.code === 'BROKER_AUTHENTICATION_FAILED';
  return error instanceof Error && error.name === 'KafkaJSSASLAuthenticationError';
}

/** A request was on the way when the connection failed: whether it was carried out is not known. */
export function connectionLost(address: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !thrown.name.startsWith('KafkaJS')) return thrown;
  return new LongreinError(
    'BROKER_CONNECTION_LOST',
    `The Kafka broker at ${address} did not answer: ${thrown.message}`,
    {
      fix: 'Nothing, if the broker comes back; else look at its log.',
      retryable: true,
      cause: thrown,
    },
  );
}

/** A broker that takes connections and says nothing: it is away like one that takes none. */
export function brokerSilent(timeoutMs: number): LongreinError {
  return new LongreinError('BROKER_CONNECTION_LOST', `no answer within ${timeoutMs} ms`, {
    fix: 'Nothing, if the broker comes back; else look at its log.',
    retryable: true,
  });
}

export function brokerUnknown(nodeId: number): LongreinError {
  return new LongreinError('BROKER_UNKNOWN', `Kafka broker ${nodeId} has no known address.`, {
    fix: 'Nothing, if the broker comes back; else check its advertised listeners.',
    retryable: true,
  });
}

/** No address answered. Says which were tried and what to look at. */
export function brokerUnreachable(addresses: readonly string[], cause: unknown): LongreinError {
  const reason = cause === undefined ? '' : `: ${toError(cause).message}`;
  if (isAuthenticationFailure(cause)) {
    return new LongreinError(
      'BROKER_AUTHENTICATION_FAILED',
      `The Kafka broker at ${addresses.join(', ')} refused the credentials${reason}`,
      { fix: 'Check the SASL mechanism, user name and password.', cause },
    );
  }
  return new LongreinError(
    'BROKER_UNREACHABLE',
    `No Kafka broker can be reached at ${addresses.join(', ')}${reason}`,
    {
      fix: 'Check that the broker runs, that the address is right, and whether it wants TLS.',
      retryable: true,
      cause,
    },
  );
}
