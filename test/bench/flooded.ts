import { event } from '../../schemas/event.ts';
import { sessionTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { partitionOf } from '../../services/chassis/log/partition.ts';
import type { LogPort, OutgoingRecord } from '../../services/chassis/log/port.ts';
import { createRegistryCodec } from '../../services/chassis/log/registry.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { headersOf, type InputBody } from '../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';
import { print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { type Loops, loopServices, openLoops, scripted } from './loops.ts';

/**
 * What a foreign writer does to the sessions of one partition when it floods that with inputs: loops alone, then beside
 * firings of timers that nobody set, for sessions that are at work. Each has to be read, folded and found void.
 */

const topic = sessionTopic('normal');
const partition = 0;
const atOnce = 10;
const seconds = 8;
const perAppend = 50;
const callsPerLoop = 41;

/** Ids of goals whose sessions are in the flooded partition. */
function* goalIds(partitions: number): Generator<string> {
  for (let n = 0; ; n += 1) {
    const id = `flooded-${process.pid}-${n}`;
    if (partitionOf(sessionId('bench', '', id), partitions) === partition) yield id;
  }
}

type Encode = (body: InputBody) => Uint8Array;

function firing(session: string, n: number, encode: Encode): OutgoingRecord {
  const atMs = Date.now();
  const data = { timer: 'flood', record: `flood_${n}`, index: 0, dueAtMs: atMs };
  const body: InputBody = {
    ...{ kind: 'input', session, source: 'bench', atMs },
    ...{ tenant: 'bench', principal: '', labels: {} },
    event: sealEvent(saltOf(session), event('timer.fired', data)),
  };
  const id = `inp_flood_${process.pid}_${n}`;
  const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' });
  return { key: session, headers, value: encode(body) };
}

/** Loops of these goals for so long; calls a second. */
async function calls(loops: Loops, ids: Iterator<string>, live: Set<string>): Promise<number> {
  const startedMs = performance.now();
  let done = 0;
  const line = async (): Promise<void> => {
    while (performance.now() - startedMs < seconds * 1_000) {
      const id: string = ids.next().value;
      const session = sessionId('bench', '', id);
      live.add(session);
      await loops.run('loop', { id });
      live.delete(session);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  return (done * callsPerLoop * 1_000) / (performance.now() - startedMs);
}

/** Writes as fast as one request at a time goes, until it is told to stop; records a second. */
function flood(log: LogPort, live: ReadonlySet<string>, encode: Encode) {
  const startedMs = performance.now();
  let written = 0;
  let stopping = false;
  const run = async (): Promise<number> => {
    while (!stopping) {
      const sessions = [...live];
      const records = Array.from({ length: perAppend }, (_, n) =>
        firing(sessions[n % sessions.length] ?? 'ses_none', written + n, encode),
      );
      await log.append({ topic, partition }, records);
      written += perAppend;
    }
    return (written * 1_000) / (performance.now() - startedMs);
  };
  const running = run();
  const stop = (): Promise<number> => {
    stopping = true;
    return running;
  };
  return { stop };
}

export async function flooded(config: RuntimeConfig): Promise<void> {
  const host = await startHostProcess(loopServices, scripted('looper'));
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const codec = await createRegistryCodec(config.registryUrl);
  const { loops, close } = await openLoops(config, log);
  const ids = goalIds(config.partitions);
  const live = new Set<string>();
  await calls(loops, ids, live);
  const aloneCallsPerSecond = await calls(loops, ids, live);
  const writer = flood(log, live, (body) => codec.encode('input', body));
  const besideCallsPerSecond = await calls(loops, ids, live);
  const floodRecordsPerSecond = await writer.stop();
  const figures = { aloneCallsPerSecond, besideCallsPerSecond, floodRecordsPerSecond };
  print({ bench: 'flooded-partition', atOnce, ...figures });
  await close();
  await log.close();
  await host.stop();
}
