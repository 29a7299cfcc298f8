import { createHash } from 'node:crypto';
import {
  deadLettersTopic,
  presenceTopic,
  resultsTopic,
  watermarksTopic,
} from '../../../schemas/topics.ts';
import { storedTopics } from '../../../services/event-store/stored-topics.ts';
import { note } from './coverage.ts';
import { cover } from './covered.ts';
import { Disturber } from './disturber.ts';
import { History, type LogOf } from './history.ts';
import { knownLogic, type Logics, realLogics } from './logics.ts';
import { logTopics, sessionTopics } from './network.ts';
import { Operator } from './operator.ts';
import { partitionsOf, seenIn } from './probe.ts';
import { Progress } from './progress.ts';
import type { Run } from './run-outcome.ts';
import type { Schedule } from './schedule-shape.ts';
import { partsIn, resultsIn } from './told.ts';
import { type Sabotage, SimulatedWorld } from './world.ts';

const stepMs = 1_000;
/**
 * By then everything must have ended: the longest time-out of a tool and its grace. So long a call may stay open
 * whose host lives, lost it and got it back while another one owned it (seed 234).
 */
const calmMsMax = 660_000;
const storeMsMax = 120_000;
const storedNames = storedTopics.map(({ name }) => name);

const logsOf = (world: SimulatedWorld, topics: readonly string[]): readonly LogOf[] =>
  topics.flatMap((topic) =>
    world.recordsOf(topic).map((records, partition) => ({ topic, partition, records })),
  );

const nameOf = ({ topic, partition }: LogOf): string => `${topic}/${partition}`;

/** Whether the event stores have written all that there is. */
function isStored(world: SimulatedWorld): boolean {
  return logsOf(world, storedNames).every(
    (log) => (world.sink.records.get(nameOf(log))?.size ?? 0) >= log.records.length,
  );
}

function isOver(world: SimulatedWorld, progress: Progress): boolean {
  const answered = new Set(resultsIn(world.results).map(({ key }) => key));
  if (answered.size < world.published.length) return false;
  for (const log of logsOf(world, sessionTopics)) progress.take(nameOf(log), log.records);
  return progress.openCount === 0;
}

async function calmDown(
  world: SimulatedWorld,
  disturber: Disturber,
  { store }: Schedule,
): Promise<number> {
  const progress = new Progress();
  const fromMs = world.clock.nowMs();
  await disturber.calm();
  await world.clock.run(3_000);
  const isLate = (): boolean => world.runaway || world.clock.nowMs() - fromMs >= calmMsMax;
  while (!isLate() && !isOver(world, progress)) await world.clock.run(stepMs);
  await world.clock.run(2_000);
  if (store && !world.runaway) await world.clock.run(storeMsMax, () => isStored(world));
  return world.clock.nowMs() - fromMs;
}

function fingerprintOf(world: SimulatedWorld): string {
  const hash = createHash('sha256');
  for (const topic of [...logTopics, resultsTopic, watermarksTopic]) {
    for (const { partition, offset, key, headers, value } of world.recordsOf(topic).flat()) {
      hash.update(JSON.stringify([topic, partition, offset, key, headers, value?.length]));
      if (value !== null) hash.update(value);
    }
  }
  return hash.digest('hex');
}

function changedLogics(logics: Logics, { logic: change, isReal }: Sabotage): Logics {
  if (change === undefined || isReal !== true) return logics;
  return new Map(
    [...logics].map(([name, { logic, topics, effects }]) => [
      name,
      { ...knownLogic(change(logic), topics), effects },
    ]),
  );
}

/** A world in which the schedule was played to its end. */
async function played(schedule: Schedule, sabotage: Sabotage) {
  const world = new SimulatedWorld(schedule, sabotage);
  const startedMs = world.clock.nowMs();
  const disturber = new Disturber(world, schedule);
  new Operator(world, schedule).start();
  await disturber.play();
  return { world, disturber, startedMs, calmMs: await calmDown(world, disturber, schedule) };
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
  const { world, disturber, calmMs, startedMs } = await played(schedule, sabotage);
  for (const { name, host } of world.hosts)
    for (const partition of partitionsOf(host)) disturber.look(name, seenIn(partition));
  const { published, ledger, lines, fatal, coverage, codec, blobs, sink } = world;
  const { poisoned } = world.logFaults;
  const all = [...new Set([...logTopics, ...storedNames])];
  const told = { results: resultsIn(world.results), parts: partsIn(world.results) };
  const seenThere = { published, ...told, ledger, lines, fatal, coverage, codec, blobs, sink };
  const run = {
    ...seenThere,
    ...{ schedule, logics, calmMs, startedMs, poisoned },
    logs: new Map(logsOf(world, all).map((log) => [nameOf(log), log.records])),
    history: await History.read(logsOf(world, logTopics), { codec, blobs, logics }),
    watermarks: world.recordsOf(watermarksTopic).flat(),
    presence: world.recordsOf(presenceTopic).flat(),
    deadLetters: world.recordsOf(deadLettersTopic).flat(),
    witness: world.witness,
    seen: disturber.seen,
    trims: world.archive.trims,
    runaway: world.runaway,
  };
  const fingerprint = run.runaway ? '' : fingerprintOf(world);
  const whole = { ...run, fingerprint };
  cover(whole);
  note(coverage, 'heartbeats', run.presence.length);
  return whole;
}
