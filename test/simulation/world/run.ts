import { createHash } from 'node:crypto';
import { presenceTopic, resultsTopic, watermarksTopic } from '../../../schemas/topics.ts';
import type { Codec } from '../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../services/chassis/log/port.ts';
import type { LogLine } from '../../support/quiet-ports.ts';
import { type Coverage, note } from './coverage.ts';
import { Disturber } from './disturber.ts';
import type { LedgerEntry } from './effects.ts';
import { History } from './history.ts';
import { type Logics, realLogics } from './logics.ts';
import { sessionTopics } from './network.ts';
import { type PartitionSeen, partitionsOf, seenIn } from './probe.ts';
import { Progress } from './progress.ts';
import type { Schedule } from './schedule.ts';
import { type Sabotage, SimulatedWorld } from './world.ts';

/** Everything that checkers look at. */
export type Run = Readonly<{
  schedule: Schedule;
  history: History;
  logics: Logics;
  published: readonly string[];
  results: readonly LogRecord[];
  watermarks: readonly LogRecord[];
  /** All records of the session topics, by `topic/partition`. */
  logs: ReadonlyMap<string, readonly LogRecord[]>;
  ledger: readonly LedgerEntry[];
  /** States of hosts as they were at some moments. */
  seen: readonly (PartitionSeen & { host: string })[];
  lines: readonly Readonly<{ host: string; lines: readonly LogLine[] }>[];
  fatal: readonly Error[];
  coverage: Coverage;
  codec: Codec;
  /** Over every record of every topic but heartbeats: key, headers, bytes. */
  fingerprint: string;
  /** Virtual milliseconds from the calm to the end. */
  calmMs: number;
}>;

const stepMs = 1_000;
/** By then everything must have ended: time-outs of plans, claims and presence are far shorter. */
const calmMsMax = 900_000;

function historyOf(world: SimulatedWorld, logics: Logics): History {
  const logs = sessionTopics.flatMap((topic) =>
    world.recordsOf(topic).map((records, partition) => ({ topic, partition, records })),
  );
  return new History(logs, { codec: world.codec, logics });
}

function isOver(world: SimulatedWorld, progress: Progress): boolean {
  const answered = new Set(world.results.map(({ key }) => key));
  if (answered.size < world.published.length) return false;
  for (const topic of sessionTopics) {
    for (const [partition, records] of world.recordsOf(topic).entries())
      progress.take(`${topic}/${partition}`, records);
  }
  return progress.openCount === 0;
}

async function calmDown(world: SimulatedWorld, disturber: Disturber): Promise<number> {
  const progress = new Progress();
  const fromMs = world.clock.nowMs();
  await disturber.calm();
  await world.clock.run(3_000);
  while (!isOver(world, progress) && world.clock.nowMs() - fromMs < calmMsMax)
    await world.clock.run(stepMs);
  await world.clock.run(2_000);
  return world.clock.nowMs() - fromMs;
}

function fingerprintOf(world: SimulatedWorld): string {
  const hash = createHash('sha256');
  for (const topic of [...sessionTopics, resultsTopic, watermarksTopic]) {
    for (const { partition, offset, key, headers, value } of world.recordsOf(topic).flat()) {
      hash.update(JSON.stringify([topic, partition, offset, key, headers, value?.length]));
      if (value !== null) hash.update(value);
    }
  }
  return hash.digest('hex');
}

function cover(run: Omit<Run, 'fingerprint'>): void {
  const { coverage, history, lines } = run;
  for (const { header, accepted, step, body } of history.lines) {
    note(coverage, `record ${header.kind}`);
    if (!accepted && header.kind !== 'epoch') note(coverage, 'record void');
    if (step.ignored !== undefined) note(coverage, `ignored ${step.ignored}`);
    if (body.kind === 'turn' && body.root !== undefined) note(coverage, 'turn from a checkpoint');
    for (const event of step.events) note(coverage, `event ${event.type}`);
  }
  for (const { message } of lines.flatMap((one) => one.lines)) {
    if (message === 'another host took over') note(coverage, 'owner superseded');
  }
}

function changedLogics(logics: Logics, { logic: change, isReal }: Sabotage): Logics {
  if (change === undefined || isReal !== true) return logics;
  return new Map(
    [...logics].map(([name, { logic, topics }]) => [name, { logic: change(logic), topics }]),
  );
}

/** A world in which the schedule was played to its end. */
async function played(schedule: Schedule, sabotage: Sabotage) {
  const world = new SimulatedWorld(schedule, sabotage);
  const disturber = new Disturber(world, schedule);
  await disturber.play();
  return { world, disturber, calmMs: await calmDown(world, disturber) };
}

/** What equal seeds must have in common, without anything that is only for checkers. */
export async function fingerprintOfSchedule(
  schedule: Schedule,
  sabotage: Sabotage = {},
): Promise<string> {
  return fingerprintOf((await played(schedule, sabotage)).world);
}

/** Runs a schedule to its end and answers everything that there is to see. */
export async function runSchedule(schedule: Schedule, sabotage: Sabotage = {}): Promise<Run> {
  const logics = changedLogics(await realLogics(), sabotage);
  const { world, disturber, calmMs } = await played(schedule, sabotage);
  for (const { name, host } of world.hosts)
    for (const partition of partitionsOf(host)) disturber.look(name, seenIn(partition));
  const logs = new Map(
    sessionTopics.flatMap((topic) =>
      world
        .recordsOf(topic)
        .map((records, partition) => [`${topic}/${partition}`, records] as const),
    ),
  );
  const { published, results, ledger, lines, fatal, coverage, codec } = world;
  const run = {
    ...{
      schedule,
      logics,
      published,
      results,
      ledger,
      lines,
      fatal,
      coverage,
      codec,
      logs,
      calmMs,
    },
    history: historyOf(world, logics),
    watermarks: world.recordsOf(watermarksTopic).flat(),
    seen: disturber.seen,
  };
  cover(run);
  note(coverage, 'heartbeats', world.recordsOf(presenceTopic).flat().length);
  return { ...run, fingerprint: fingerprintOf(world) };
}
