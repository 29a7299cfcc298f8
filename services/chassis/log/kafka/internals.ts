/**
 * The parts of kafkajs that its public face does not show: one broker with its connections, and the
 * requests it speaks. Everything above decides routing, retries and positions itself, because
 * kafkajs's producer and consumer hide what a failed request means. The version is pinned and
 * checked, so a new one fails at start, not in the middle of a run.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { LogEntry, SASLOptions } from 'kafkajs';
import { LongreinError } from '../../errors.ts';
import { patchRequestTimer } from './request-timer.ts';

const EXPECTED_VERSION = '2.2.4';

/** One request as kafkajs encodes it and decodes its answer. */
export type WireRequest = Readonly<{
  request: Readonly<{
    apiKey: number;
    apiVersion: number;
    apiName: string;
    /** The body as kafkajs copies it into the request. */
    encode?: () => Promise<Readonly<{ buf: Buffer; buffer: Buffer }>>;
  }>;
  response: Readonly<{
    decode(payload: Buffer): Promise<unknown>;
    parse(decoded: unknown): Promise<unknown>;
  }>;
  requestTimeout?: number;
  logResponseError?: boolean;
}>;

export type WireConnection = Readonly<{
  socket?: Socket;
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  isConnected(): boolean;
  rejectRequests(error: Error): void;
}>;

export type WireBroker = Readonly<{
  connectionPool: Readonly<{
    host: string;
    port: number;
    /** Two sockets: the first for everything, the second for long polls. */
    pool: readonly WireConnection[];
    send(request: WireRequest): Promise<unknown>;
  }>;
  /** What the broker speaks, by the number of the request; there once it is connected. */
  versions?: Readonly<Record<number, Readonly<{ minVersion: number; maxVersion: number }>>>;
  connect(): Promise<void>;
  isConnected(): boolean;
  lookupRequest(apiKey: number, definition: unknown): (args: object) => WireRequest;
}>;

export type WireLogger = Readonly<{ namespace(name: string): WireLogger }>;

export type SocketArguments = Readonly<{
  host: string;
  port: number;
  ssl: ConnectionOptions | undefined;
  onConnect: () => void;
}>;

export type PoolOptions = Readonly<{
  host: string;
  port: number;
  clientId: string;
  ssl: ConnectionOptions | null;
  sasl: SASLOptions | null;
  connectionTimeout: number;
  requestTimeout: number;
  enforceRequestTimeout: boolean;
  logger: WireLogger;
  socketFactory: (socket: SocketArguments) => Socket;
}>;

type BrokerOptions = Readonly<{
  connectionPool: object;
  logger: WireLogger;
  allowAutoTopicCreation: boolean;
}>;

type LoggerOptions = Readonly<{
  level: number;
  logCreator: (level: number) => (entry: LogEntry) => void;
}>;

export type WireError = Error & Readonly<{ type: string; code: number; retriable: boolean }>;

type Internals = Readonly<{
  Broker: new (options: BrokerOptions) => WireBroker;
  ConnectionPool: new (options: PoolOptions) => object;
  createLogger(options: LoggerOptions): WireLogger;
  createSocketFactory(): (socket: SocketArguments) => Socket;
  createErrorFromCode(code: number): WireError;
  /** The checksum of record batches. */
  crc32C(bytes: Buffer): number;
  requests: Readonly<Record<string, unknown>>;
  apiKeys: Readonly<Record<string, number>>;
}>;

/** kafkajs's own pieces. Throws `KAFKA_CLIENT_VERSION` when another version is installed. */
export const internals: Internals = loadInternals(createRequire(import.meta.url));

function loadInternals(load: NodeJS.Require): Internals {
  const { version } = load('kafkajs/package.json') as { version: string };
  if (version !== EXPECTED_VERSION) {
    throw new LongreinError(
      'KAFKA_CLIENT_VERSION',
      `The log was written for kafkajs ${EXPECTED_VERSION}, but ${version} is installed.`,
      { fix: `Install the pinned version: npm install kafkajs@${EXPECTED_VERSION}` },
    );
  }
  patchRequestTimer(load('kafkajs/src/network/requestQueue'));
  const protocol = load('kafkajs/src/protocol/requests') as Pick<Internals, 'requests'>;
  return {
    Broker: load('kafkajs/src/broker'),
    ConnectionPool: load('kafkajs/src/network/connectionPool'),
    createLogger: (load('kafkajs/src/loggers') as Pick<Internals, 'createLogger'>).createLogger,
    createSocketFactory: load('kafkajs/src/network/socketFactory'),
    createErrorFromCode: (
      load('kafkajs/src/protocol/error') as Pick<Internals, 'createErrorFromCode'>
    ).createErrorFromCode,
    crc32C: load('kafkajs/src/protocol/recordBatch/crc32C'),
    requests: protocol.requests,
    apiKeys: load('kafkajs/src/protocol/requests/apiKeys'),
  };
}
