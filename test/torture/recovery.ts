import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sessionTopic } from '../../schemas/topics.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { TopicTail } from '../support/topic-tail.ts';
import { GoalStorm } from './goal-storm.ts';
import type { HostProcess } from './host-process.ts';
import { Stage } from './stage.ts';

/** Milliseconds from `kill -9` of a host, by the clock of this machine. */
export type RecoveryFigures = Readonly<{
  sessions: number;
  /** Until the group gave the partition to the successor: its session time-out, and its joining. */
  rebalanceMs: number;
  /** Until the successor owned the partition by the rules of the log. */
  ownedMs: number;
  /** Until the first, half and all of the sessions had moved on. */
  firstMs: number;
  halfMs: number;
  allMs: number;
  /** Processor time that the successor took meanwhile: what the rest would be on a machine that is busy with nothing else. */
  successorCpuMs: number;
  /** What it took of that after the rebalance: what it read ahead is not in it. */
  afterRebalanceCpuMs: number;
}>;

type Options = Readonly<{ dir: string; sessions: number; say(line: string): void }>;

const topic = sessionTopic('normal');
const outsideGoalsWaitMs = 500_000;
/** As hosts have it where nobody says anything else. */
const sessionTimeoutMs = 10_000;

/** How long the sessions of one partition stand still when their host is killed and another takes them over. */
export async function recovery({ dir, sessions, say }: Options): Promise<RecoveryFigures> {
  const catalog = [join(packageRoot, 'test/fixtures/torture')];
  const log = { brokers: 1, partitions: 1, sessionTimeoutMs };
  const stage = await Stage.open({ dir, catalog, clickhouse: false, ...log });
  try {
    const first = await (await stage.startHost(['all'])).ready();
    const storm = await GoalStorm.open({ brokers: stage.cluster.inside, seed: 1, perSecond: 1 });
    const tail = await TopicTail.open(stage.cluster.inside, [topic], true);
    try {
      return await figuresOf({ stage, first, storm, tail, sessions, say });
    } finally {
      await Promise.all([storm.close(), tail.close()]);
    }
  } finally {
    await stage.close();
  }
}

type Scene = Readonly<{
  stage: Stage;
  first: HostProcess;
  storm: GoalStorm;
  tail: TopicTail;
  sessions: number;
  say(line: string): void;
}>;

async function figuresOf({ stage, first, storm, tail, sessions, say }: Scene) {
  const inputs = { waitMs: outsideGoalsWaitMs };
  for (let count = 1; count <= sessions; count += 1)
    storm.submit(`goal-${count}`, { plan: 'patient', inputs });
  await tail.gather(isClaim, { count: sessions, withinMs: 180_000, what: 'claims' });
  say(`${sessions} sessions wait in ${topic}/0`);
  const second = await (await stage.startHost(['all'])).started();
  // The group may have split its topics between the two by now.
  await sleep(8_000);
  const [victim, successor] = ownerOf(tail, first) === first ? [first, second] : [second, first];
  return measure({ victim, successor, tail, sessions });
}

const isClaim = ({ headers }: LogRecord): boolean =>
  headers['lr_kind'] === 'turn' && (headers['lr_types'] ?? '').includes('tool.claimed');

/** Who wrote the newest epoch of the partition. */
function ownerOf(tail: TopicTail, first: HostProcess): HostProcess | undefined {
  const epochs = tail.records.filter(({ headers }) => headers['lr_kind'] === 'epoch');
  return epochs.at(-1)?.key === `epoch/${first.name}` ? first : undefined;
}

type Parts = Readonly<{
  victim: HostProcess;
  successor: HostProcess;
  tail: TopicTail;
  sessions: number;
}>;

async function measure({ victim, successor, tail, sessions }: Parts): Promise<RecoveryFigures> {
  const claimed = tail.records.length;
  const cpuMsBefore = successor.cpuMs();
  await victim.kill();
  const killedAtMs = Date.now();
  const moved = (): ReadonlyMap<string, number> => {
    const found = new Map<string, number>();
    for (const { headers, timestampMs } of tail.records.slice(claimed)) {
      const session = headers['ce_subject'] ?? '';
      if (headers['lr_kind'] === 'turn' && !found.has(session)) found.set(session, timestampMs);
    }
    return found;
  };
  const endMs = Date.now() + 120_000;
  let cpuMsThen: number | undefined;
  while (moved().size < sessions && Date.now() < endMs) {
    await sleep(100);
    if (cpuMsThen === undefined && timeOf(successor, killedAtMs, ...rebalanced) !== undefined)
      cpuMsThen = successor.cpuMs();
  }
  const cpuMs = successor.cpuMs();
  const times = [...moved().values()].map((atMs) => atMs - killedAtMs).sort((a, b) => a - b);
  if (times.length < sessions)
    throw new Error(`only ${times.length} of ${sessions} sessions moved:\n${successor.tail()}`);
  return {
    sessions,
    rebalanceMs: saidAt(successor, killedAtMs, ...rebalanced) - killedAtMs,
    ownedMs: saidAt(successor, killedAtMs, 'partition owned', topic) - killedAtMs,
    firstMs: times[0] ?? 0,
    halfMs: times[Math.floor(times.length / 2)] ?? 0,
    allMs: times.at(-1) ?? 0,
    successorCpuMs: cpuMs - cpuMsBefore,
    afterRebalanceCpuMs: cpuMs - (cpuMsThen ?? cpuMs),
  };
}

/** What a host writes when the group has given it its partitions. */
const rebalanced = ['joined the group', 'supervisor'] as const;

function saidAt(...[host, afterMs, ...words]: Parameters<typeof timeOf>): number {
  const atMs = timeOf(host, afterMs, ...words);
  if (atMs === undefined) throw new Error(`${host.name} never said: ${words.join(' ')}`);
  return atMs;
}

/** When the host first wrote such a line after a time. */
function timeOf(
  host: HostProcess,
  afterMs: number,
  ...words: readonly string[]
): number | undefined {
  return host
    .log()
    .split('\n')
    .filter((one) => words.every((word) => one.includes(word)))
    .map((one) => JSON.parse(one) as { time: number })
    .find(({ time }) => time >= afterMs)?.time;
}
