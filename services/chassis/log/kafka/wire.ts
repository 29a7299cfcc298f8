/**
 * Sends one request to one broker and gives back the decoded answer with its error codes untouched:
 * each caller knows which of them concern one partition only. kafkajs's own parsing throws the
 * whole answer away at the first bad partition.
 */
import { internals, type WireBroker, type WireConnection, type WireRequest } from './internals.ts';

export type Answers = {
  Metadata: {
    brokers: { nodeId: number; host: string; port: number }[];
    controllerId: number;
    topicMetadata: {
      topic: string;
      topicErrorCode: number;
      partitionMetadata: { partitionId: number; leader: number }[];
    }[];
  };
  Produce: {
    topics: {
      topicName: string;
      partitions: { partition: number; errorCode: number; baseOffset: string }[];
    }[];
  };
  ListOffsets: {
    responses: {
      topic: string;
      partitions: { partition: number; errorCode: number; offset: string }[];
    }[];
  };
  CreateTopics: {
    topicErrors: { topic: string; errorCode: number; errorMessage?: string | null }[];
  };
  DeleteRecords: {
    topics: { topic: string; partitions: { partition: number; errorCode: number }[] }[];
  };
  GroupCoordinator: {
    errorCode: number;
    coordinator: { nodeId: number; host: string; port: number };
  };
  JoinGroup: {
    errorCode: number;
    generationId: number;
    leaderId: string;
    memberId: string;
    members: { memberId: string; memberMetadata: Buffer }[];
  };
  SyncGroup: { errorCode: number; memberAssignment: Buffer };
  Heartbeat: { errorCode: number };
  LeaveGroup: { errorCode: number };
  OffsetCommit: {
    responses: { topic: string; partitions: { partition: number; errorCode: number }[] }[];
  };
};

const FETCH_CONNECTION = 1;
const connecting = new WeakMap<WireConnection, Promise<unknown>>();

/**
 * Asks a connected broker. Throws kafkajs's connection and time-out errors; answers carry error
 * codes.
 */
export async function ask<Api extends keyof Answers>(
  broker: WireBroker,
  api: Api,
  args: object,
): Promise<Answers[Api]> {
  const request = encode(broker, api, args);
  const response = { decode: request.response.decode, parse: untouched };
  await connectOnce(broker, 0);
  const answer = await broker.connectionPool.send({
    ...request,
    response,
    logResponseError: false,
  });
  return answer as Answers[Api];
}

/** Produces with a body of our own: see `produceBody`. All versions that kafkajs speaks of it are alike. */
export async function askProduce(broker: WireBroker, body: Buffer): Promise<Answers['Produce']> {
  const { request, response } = encode(broker, 'Produce', {});
  await connectOnce(broker, 0);
  const answer = await broker.connectionPool.send({
    request: { ...request, encode: async () => ({ buf: body, buffer: body }) },
    response: { decode: response.decode, parse: untouched },
    logResponseError: false,
  });
  return answer as Answers['Produce'];
}

/** The raw bytes of a fetch answer, with the version of the protocol that they are in. */
export async function askFetch(
  broker: WireBroker,
  args: object,
): Promise<{ version: number; payload: Buffer }> {
  const request = encode(broker, 'Fetch', args);
  const decode = async (payload: Buffer): Promise<unknown> => ({
    payload,
    clientSideThrottleTime: payload.readInt32BE(0),
  });
  await connectOnce(broker, FETCH_CONNECTION);
  const answer = await broker.connectionPool.send({
    ...request,
    response: { decode, parse: untouched },
    logResponseError: false,
  });
  return {
    version: request.request.apiVersion,
    payload: (answer as { payload: Buffer }).payload,
  };
}

/** The raw bytes of the answer to a request that kafkajs does not know in this version. */
export async function askRaw(
  broker: WireBroker,
  request: Readonly<{ apiKey: number; apiVersion: number; apiName: string; body: Buffer }>,
): Promise<Buffer> {
  const { body, ...named } = request;
  const encoded = async () => ({ buf: body, buffer: body });
  const decode = async (payload: Buffer): Promise<unknown> => ({ payload });
  await connectOnce(broker, 0);
  const answer = await broker.connectionPool.send({
    request: { ...named, encode: encoded },
    response: { decode, parse: untouched },
    logResponseError: false,
  });
  return (answer as { payload: Buffer }).payload;
}

function encode(broker: WireBroker, api: string, args: object): WireRequest {
  const apiKey = internals.apiKeys[api];
  if (apiKey === undefined) throw new TypeError(`kafkajs does not know the request ${api}`);
  return broker.lookupRequest(apiKey, internals.requests[api])(args);
}

const untouched = async (decoded: unknown): Promise<unknown> => decoded;

/** kafkajs opens a second socket, and loses the first, when two requests find it closed at once. */
async function connectOnce(broker: WireBroker, index: number): Promise<void> {
  const connection = broker.connectionPool.pool[index];
  if (connection === undefined || connection.isConnected()) return;
  const running = connecting.get(connection);
  if (running !== undefined) {
    await running;
    return;
  }
  const opening = connection.connect().finally(() => connecting.delete(connection));
  connecting.set(connection, opening);
  await opening;
}
