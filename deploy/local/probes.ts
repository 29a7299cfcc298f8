/**
 * Looks whether a broker, a registry or a ClickHouse answers. Every look ends within 5 s, with a
 * reason that names the address. Passwords inside an address are sent, never told.
 */
import { connect } from 'node:net';
import { Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { toError } from '../../services/chassis/errors.ts';
import { errorCode } from './files.ts';

/** `reason` is set when it does not answer as it should. */
export interface ProbeResult {
  readonly ok: boolean;
  readonly reason: string;
}

/** How to reach brokers that ask for encryption or a login. */
export type BrokerAccess = Pick<KafkaConfig, 'ssl' | 'sasl'>;

const lookMs = 5_000;

/**
 * Asks a broker for its cluster. Ok if any of the addresses leads to a cluster with a broker in it.
 */
export async function probeBrokers(
  brokers: readonly string[],
  access: BrokerAccess = {},
): Promise<ProbeResult> {
  const opened = await Promise.all(brokers.map(probeSocket));
  if (!opened.some((result) => result.ok)) return firstOf(opened);
  const work = describeCluster(brokers, access);
  return await within(
    work,
    `${brokers.join(',')} accepts connections but does not answer as Kafka`,
  );
}

/** Whether something listens at `host:port`. */
export function probeSocket(address: string): Promise<ProbeResult> {
  const parsed = URL.canParse(`tcp://${address}`) ? new URL(`tcp://${address}`) : undefined;
  if (!parsed?.port) return Promise.resolve({ ok: false, reason: `${address} is not host:port` });
  return new Promise((resolve) => {
    const host = parsed.hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port: Number(parsed.port), timeout: 3_000 });
    const end = (ok: boolean, reason: string): void => {
      socket.destroy();
      resolve({ ok, reason });
    };
    socket.once('connect', () => end(true, ''));
    socket.once('timeout', () => end(false, `${address} does not answer`));
    socket.once('error', (error) => end(false, `${address}: ${errorCode(error) ?? error.message}`));
  });
}

/** Asks a registry for its subjects; `url` includes the path of the Confluent API. */
export async function probeRegistry(url: string): Promise<ProbeResult> {
  return await probeHttp(`${url}/subjects`, (text) => text.trimStart().startsWith('['));
}

/** Pings a ClickHouse, or the embedded engine. */
export async function probeClickhouse(url: string): Promise<ProbeResult> {
  return await probeHttp(`${url}/ping`, (text) => text.startsWith('Ok.'));
}

/** An address without the user and password that it may carry. */
export function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.username === '' && parsed.password === '') return url;
  parsed.username = '';
  parsed.password = '';
  return parsed.href.replace(/\/$/, '');
}

async function probeHttp(url: string, fits: (text: string) => boolean): Promise<ProbeResult> {
  const shown = withoutCredentials(url);
  if (!URL.canParse(url)) return { ok: false, reason: `${shown} is not an address` };
  try {
    const options = { headers: credentialsOf(url), signal: AbortSignal.timeout(lookMs) };
    const response = await fetch(shown, options);
    const text = await response.text();
    if (!response.ok) return { ok: false, reason: `${shown} answers HTTP ${response.status}` };
    return fits(text)
      ? { ok: true, reason: '' }
      : { ok: false, reason: `${shown} is another program` };
  } catch (error) {
    return { ok: false, reason: `${shown}: ${networkReason(error)}` };
  }
}

function credentialsOf(url: string): Record<string, string> {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function networkReason(error: unknown): string {
  const { name, message, cause } = toError(error);
  if (name === 'TimeoutError') return `no answer in ${lookMs / 1_000} s`;
  return errorCode(cause) ?? message;
}

async function describeCluster(
  brokers: readonly string[],
  access: BrokerAccess,
): Promise<ProbeResult> {
  const kafka = new Kafka({
    clientId: 'longrein-probe',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 3_000,
    authenticationTimeout: 3_000,
    requestTimeout: 4_000,
    retry: { retries: 0 },
    ...access,
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    if (cluster.brokers.length > 0) return { ok: true, reason: '' };
    return { ok: false, reason: `${brokers.join(',')} knows no broker yet` };
  } catch (error) {
    return { ok: false, reason: `${brokers.join(',')}: ${toError(error).message}` };
  } finally {
    await admin.disconnect();
  }
}

async function within(work: Promise<ProbeResult>, late: string): Promise<ProbeResult> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<ProbeResult>((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, reason: late }), lookMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function firstOf(results: readonly ProbeResult[]): ProbeResult {
  return results[0] ?? { ok: false, reason: 'no address is given' };
}
