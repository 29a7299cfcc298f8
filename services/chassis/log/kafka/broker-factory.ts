/** Makes and ends kafkajs brokers: addresses, TLS, credentials, time-outs. */
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { SASLOptions } from 'kafkajs';
import { LongreinError } from '../../errors.ts';
import {
  internals,
  type SocketArguments,
  type WireBroker,
  type WireConnection,
} from './internals.ts';
import { type KafkaLogger, wireLogger } from './kafka-logger.ts';

export type Address = Readonly<{ host: string; port: number }>;

export type KafkaAccess = Readonly<{
  /** Bootstrap addresses, `host:port`. */
  brokers: readonly string[];
  clientId: string;
  logger: KafkaLogger;
  /** How long to try to reach any broker, in milliseconds. */
  connectionTimeoutMs: number;
  /** How long to wait for an answer, in milliseconds. */
  requestTimeoutMs: number;
  tls?: boolean | ConnectionOptions;
  sasl?: SASLOptions;
}>;

export type BrokerFactory = (address: Address) => WireBroker;

const openSocket = internals.createSocketFactory();

/** Without it a second small request on the same socket waits for the answer to the first. */
function promptSocket(socketArguments: SocketArguments): Socket {
  return openSocket(socketArguments).setNoDelay(true);
}

export function createBrokerFactory(access: KafkaAccess): BrokerFactory {
  const logger = wireLogger(access.logger);
  const ssl = tlsOptions(access.tls);
  return ({ host, port }) => {
    const connectionPool = new internals.ConnectionPool({
      host,
      port,
      ssl,
      sasl: access.sasl ?? null,
      clientId: access.clientId,
      connectionTimeout: access.connectionTimeoutMs,
      requestTimeout: access.requestTimeoutMs,
      // `RequestsOnTheWay` does that.
      enforceRequestTimeout: false,
      logger,
      socketFactory: promptSocket,
    });
    return new internals.Broker({ connectionPool, logger, allowAutoTopicCreation: false });
  };
}

function tlsOptions(tls: boolean | ConnectionOptions | undefined): ConnectionOptions | null {
  if (tls === undefined || tls === false) return null;
  return tls === true ? {} : tls;
}

/** Ends a broker's sockets at once; requests on the way fail with this reason. */
export function dropBroker(broker: WireBroker, reason: Error): void {
  for (const connection of broker.connectionPool.pool) dropConnection(connection, reason);
}

function dropConnection(connection: WireConnection, reason: Error): void {
  const { socket } = connection;
  if (socket === undefined) return;
  // A socket that is still connecting has a timer which only an error event clears.
  if (!connection.isConnected()) {
    socket.destroy(reason);
    return;
  }
  connection.rejectRequests(reason);
  connection.disconnect().then(
    () => socket.destroy(),
    () => socket.destroy(),
  );
}

/** Reads `host:port`. Throws `BROKER_ADDRESS_INVALID`. */
export function parseAddress(text: string): Address {
  const at = text.lastIndexOf(':');
  const port = Number(text.slice(at + 1));
  if (at < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new LongreinError('BROKER_ADDRESS_INVALID', `"${text}" is not a Kafka broker address.`, {
      fix: 'Write it as host:port, for example 127.0.0.1:9092.',
    });
  }
  return { host: text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port };
}
