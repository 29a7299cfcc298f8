import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { event, text } from '../../schemas/event.ts';
import { sessionTopic } from '../../schemas/topics.ts';
import { release } from '../../services/chassis/config/package-root.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { Host } from '../../services/chassis/host/host.ts';
import { HostTelemetry } from '../../services/chassis/host/host-telemetry.ts';
import { connect } from '../../services/chassis/host/run-host.ts';
import { partitionOf } from '../../services/chassis/log/partition.ts';
import type { LogPort, LogRecord, PartitionName, Reader } from '../../services/chassis/log/port.ts';
import { headersOf, type InputBody } from '../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';
import { createLogger } from '../../services/chassis/telemetry/logger.ts';
import { print } from './figures.ts';
import { pingServices } from './ping-services.ts';

const topic = sessionTopic('bulk');
const here = fileURLToPath(import.meta.url);

function opening(session: string, turns: number): InputBody {
  const data = {
    goalId: session,
    source: 'bench',
    priority: 'bulk' as const,
    lane: 'bulk',
    goalLog: 'goal_bench',
    openedAtMs: Date.now(),
    timeoutMs: turns,
  };
  const opened = event('session.opened', data, { goal: text('bench') });
  const who = { tenant: 'bench', principal: '', labels: {} };
  const head = { kind: 'input' as const, session, source: 'bench', atMs: Date.now() };
  return { ...head, ...who, event: sealEvent(saltOf(session), opened) };
}

const isClosing = ({ headers }: LogRecord, session: string): boolean =>
  headers['ce_subject'] === session && headers['lr_types'] === 'session.closed';

/** Runs one session of so many exchanges and answers the milliseconds per turn, seen from outside. */
async function sessionOf(
  turns: number,
  parts: { log: LogPort; config: RuntimeConfig; encode: (body: InputBody) => Uint8Array },
): Promise<number> {
  const session = `ses_bench_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const partition = partitionOf(session, parts.config.partitions);
  const bounds = (await parts.log.bounds(topic)).get(partition);
  let reader: Reader | undefined;
  const closed = new Promise<void>((resolve, reject) => {
    const handlers = {
      onRecords: (_at: PartitionName, records: readonly LogRecord[]) => {
        if (records.some((record) => isClosing(record, session))) resolve();
      },
      onPartitionError: (_at: PartitionName, error: Error) => reject(error),
      onInterruption: () => undefined,
    };
    parts.log.reader(handlers).then((made) => {
      reader = made;
      made.assign({ topic, partition }, bounds?.high ?? 0);
    }, reject);
  });
  const body = opening(session, turns);
  const headers = headersOf(`inp_${session}`, body, {
    batch: session,
    batchIndex: 0,
    traceparent: '',
  });
  const started = performance.now();
  await parts.log.append({ topic, partition }, [
    { key: session, headers, value: parts.encode(body) },
  ]);
  await closed;
  const took = performance.now() - started;
  await reader?.close();
  return took / (2 * turns);
}

async function startHost(config: RuntimeConfig, names: readonly string[]): Promise<Host> {
  const { ports } = await connect(
    config,
    createLogger('error'),
    await HostTelemetry.start(config, 'bench'),
  );
  const services = names.map((name) => pingServices[name]).filter((one) => one !== undefined);
  const options = { name: `bench-${names.join('-')}`, release, ports, housekeepingMs: 5_000 };
  const host = new Host({
    ...options,
    services,
    onFatal: (error) => process.exit(error.code === '' ? 1 : 2),
  });
  await host.start([]);
  while (!host.ready) await new Promise((resolve) => setTimeout(resolve, 20));
  return host;
}

async function measured(name: string, config: RuntimeConfig, rawHopMs: number): Promise<void> {
  const { ports } = await connect(
    config,
    createLogger('error'),
    await HostTelemetry.start(config, 'bench'),
  );
  const parts = {
    log: ports.log,
    config,
    encode: (body: InputBody) => ports.codec.encode('input', body),
  };
  await sessionOf(50, parts);
  const perTurn: number[] = [];
  for (let round = 0; round < 5; round++) perTurn.push(await sessionOf(100, parts));
  const msPerTurn = perTurn.sort((left, right) => left - right)[2] ?? 0;
  print({ bench: name, msPerTurn, timesRawHop: msPerTurn / rawHopMs });
  await ports.log.close();
}

const startChild = (name: string): Promise<ChildProcess> =>
  new Promise((resolve, reject) => {
    const child = fork(here, [name], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.once('message', () => resolve(child));
    child.once('exit', (code) => reject(new Error(`the ${name} process ended with ${code}`)));
  });

/** One turn inside a host, and one across two processes. */
export async function turns(config: RuntimeConfig, rawHopMs: number): Promise<void> {
  const host = await startHost(config, ['asker', 'answerer']);
  await measured('turn-inside-host', config, rawHopMs);
  await host.stop(5_000);
  const children = await Promise.all([startChild('asker'), startChild('answerer')]);
  await measured('turn-across-processes', config, rawHopMs);
  for (const child of children) child.kill('SIGTERM');
}

if (process.argv[1] === here) {
  const { readRuntimeConfig } = await import('../../services/chassis/config/runtime-config.ts');
  const host = await startHost(readRuntimeConfig(), process.argv.slice(2));
  process.on('SIGTERM', () => {
    host.stop(3_000).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
  process.send?.('ready');
}
