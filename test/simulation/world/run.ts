import { presenceTopic, resultsTopic, watermarksTopic } from '../../../schemas/topics.ts';
import type { LogRecord } from '../../../services/chassis/log/port.ts';
import { sha256 } from '../../../services/chassis/protocol/hash.ts';
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
import type { Witness } from './witness.ts';
import { type Sabotage, SimulatedWorld } from './world.ts';

/** Everything that checkers look at. */
export type Run = Readonly<{
  schedule: Schedule;
  history: History;
  logics: Logics;
  published: readonly string[];
  results: readonly LogRecord[];
  watermarks: readonly LogRecord[];
  presence: readonly LogRecord[];
  witness: Witness;
  /** All records of the session topics, by `topic/partition`. */
  logs: ReadonlyMap<string, readonly LogRecord[]>;
  ledger: readonly LedgerEntry[];
  /** States of hosts as they were at some moments. */
  seen: readonly (PartitionSeen & { host: string })[];
  lines: readonly Readonly<{ host: string; lines: readonly LogLine[] }>[];
  fatal: readonly Error[];
  coverage: Coverage;
  /** Over every record of every topic but heartbeats: key, headers, bytes. */
  fingerprint: string;
  /** The world's own time when it began. */
  startedMs: number;
  /** Virtual milliseconds from the calm to the end. */
  calmMs: number;
  /** It was broken off: requests without end. */
  runaway: boolean;
}>;

const stepMs = 1_000;
/** By then everything must have ended: time-outs of plans, claims and presence are far shorter. */
const calmMsMax = 180_000;

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
  const isLate = (): boolean => world.runaway || world.clock.nowMs() - fromMs >= calmMsMax;
  while (!isLate() && !isOver(world, progress)) await world.clock.run(stepMs);
  await world.clock.run(2_000);
  return world.clock.nowMs() - fromMs;
}

function fingerprintOf(world: SimulatedWorld): string {
  const parts: string[] = [];
  for (const topic of [...sessionTopics, resultsTopic, watermarksTopic]) {
    for (const { partition, offset, key, headers, value } of world.recordsOf(topic).flat()) {
      const bytes = value === null ? '' : Buffer.from(value).toString('latin1');
      parts.push(JSON.stringify([topic, partition, offset, key, headers, bytes]));
    }
  }
  return sha256(parts.join('\n'));
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
    [...logics].map(([name, { logic, topics, effects }]) => [
      name,
      { logic: change(logic), topics, ...(effects === undefined ? {} : { effects }) },
    ]),
  );
}

/** Runs a schedule to its end and answers everything that there is to see. */
export async function runSchedule(schedule: Schedule, sabotage: Sabotage = {}): Promise<Run> {
  const logics = changedLogics(await realLogics(), sabotage);
  const world = new SimulatedWorld(schedule, sabotage);
  const startedMs = world.clock.nowMs();
  const disturber = new Disturber(world, schedule);
  await disturber.play();
  const calmMs = await calmDown(world, disturber);
  for (const { name, host } of world.hosts)
    for (const partition of partitionsOf(host)) disturber.look(name, seenIn(partition));
  const logs = new Map(
    sessionTopics.flatMap((topic) =>
      world
        .recordsOf(topic)
        .map((records, partition) => [`${topic}/${partition}`, records] as const),
    ),
  );
  const { published, results, ledger, lines, fatal, coverage } = world;
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
      logs,
      calmMs,
      startedMs,
    },
    history: historyOf(world, logics),
    watermarks: world.recordsOf(watermarksTopic).flat(),
    presence: world.recordsOf(presenceTopic).flat(),
    witness: world.witness,
    seen: disturber.seen,
    runaway: world.runaway,
  };
  cover(run);
  note(coverage, 'heartbeats', run.presence.length);
  return { ...run, fingerprint: run.runaway ? '' : fingerprintOf(world) };
}
