import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { effectLines } from './checks/effects-in-ledger.ts';
import { type Evidence, gatherEvidence, type Violation } from './checks/evidence.ts';
import { logViolations } from './checks/log-rules.ts';
import { rowsOfLog } from './checks/rows-of-log.ts';
import { Disturber } from './disturber.ts';
import { shortfalls, type TortureFigures } from './figures.ts';
import { GoalStorm } from './goal-storm.ts';
import { HostSlot } from './host-slot.ts';
import { ResultTail } from './result-tail.ts';
import { Stage } from './stage.ts';

export type TortureOptions = Readonly<{
  /** Exists and is empty. */
  dir: string;
  minutes: number;
  seed: number;
  goalsPerSecond: number;
  /** Between two disturbances, on average. */
  paceMs: number;
  /** Between two requests that a proxy spoils. */
  spoilMs: number;
  /** How long after the last disturbance the last goal may end. */
  patienceMs: number;
  ablate?: string;
  say(line: string): void;
}>;

/** All, several and one service a process. The first kind twice: members of one group. */
const groups: readonly (readonly string[])[] = [
  ['all'],
  ['all'],
  ['intake', 'planner', 'supervisor', 'aggregator'],
  ['worker-pool', 'tool-guard', 'model-gateway', 'sandbox-executor'],
  ['tool-runner'],
  ['event-store'],
];

const lookEveryMs = 500;
const storeWithinMs = 90_000;
const goalsEveryMs = 10_000;

type Cast = Readonly<{
  options: TortureOptions;
  stage: Stage;
  slots: readonly HostSlot[];
  storm: GoalStorm;
  results: ResultTail;
  disturber: Disturber;
}>;

/** One run from start to the last check. Throws where it cannot start; what it finds is in the figures. */
export async function torture(options: TortureOptions): Promise<TortureFigures> {
  const { dir, ablate, seed, say } = options;
  const catalog = [join(packageRoot, 'test/fixtures/torture')];
  const ablation = ablate === undefined ? {} : { ablate };
  const stage = await Stage.open({ dir, catalog, ...ablation });
  try {
    say('three brokers, the registry and ClickHouse run');
    const slots: HostSlot[] = [];
    // The first makes the topics; the others would all try the same.
    for (const services of groups) {
      slots.push(await HostSlot.open(stage, services));
      if (slots.length === 1) await slots[0]?.host.ready();
    }
    await Promise.all(slots.map(({ host }) => host.started()));
    say(`${slots.length} hosts run`);
    const storm = await GoalStorm.open({
      brokers: stage.cluster.inside,
      seed,
      perSecond: options.goalsPerSecond,
    });
    const results = await ResultTail.open(stage.cluster.inside);
    const { paceMs, spoilMs } = options;
    const disturber = new Disturber({ stage, slots, seed, paceMs, spoilMs, say });
    const scene = { options, stage, slots, storm, results, disturber };
    try {
      await storms(scene);
      return await figuresOf(scene);
    } finally {
      await Promise.all([storm.close(), results.close()]);
    }
  } finally {
    await stage.close();
  }
}

/** Load and disturbances, then rest until every goal has its result or patience ends. */
async function storms({ options, slots, storm, results, disturber }: Cast): Promise<void> {
  const looking = setInterval(() => slots.forEach((slot) => void slot.look()), lookEveryMs);
  const telling = setInterval(() => {
    options.say(`${storm.goals.size} goals, ${results.byGoal.size} with a result`);
  }, goalsEveryMs);
  try {
    storm.start();
    disturber.start();
    await sleep(options.minutes * 60_000);
    await storm.stop();
    await disturber.stop();
    options.say('all is back; waiting for the last goals');
    const left = await results.missing(storm.goals.keys(), options.patienceMs);
    if (left.length > 0) options.say(`no result: ${left.join(', ')}`);
    // Logs close a little after the results are out; a repeated result may still come.
    await sleep(5_000);
  } finally {
    clearInterval(looking);
    clearInterval(telling);
  }
}

async function violationsOf(evidence: Evidence, scene: Cast): Promise<readonly Violation[]> {
  const { stage, disturber, options } = scene;
  return [
    ...(await logViolations(evidence)),
    ...(await rowsOfLog(stage.clickhouseUrl, evidence.image, storeWithinMs)),
    ...shortfalls({
      ...{ done: disturber.counts, killed: disturber.killedServices },
      minutes: options.minutes,
    }),
  ];
}

async function figuresOf(scene: Cast): Promise<TortureFigures> {
  const { options, storm, results, disturber, slots, stage } = scene;
  options.say('checking');
  const { blobDir, dir } = stage;
  const place = { brokers: stage.cluster.inside, blobDir, dir };
  const found = { goals: storm.goals, results: results.byGoal };
  const evidence = await gatherEvidence(place, found);
  const statuses: Record<string, number> = {};
  for (const [first] of results.byGoal.values())
    if (first !== undefined) statuses[first.status] = (statuses[first.status] ?? 0) + 1;
  const { image, sessions } = evidence;
  return {
    seed: options.seed,
    minutes: options.minutes,
    goals: storm.goals.size,
    statuses,
    repeatedGoals: storm.repeated,
    cancelledGoals: [...storm.goals.values()].filter(({ cancelled }) => cancelled).length,
    sessions: sessions.length,
    records: image.partitions.reduce((sum, { offsets }) => sum + offsets.size, 0),
    events: image.events,
    effects: effectLines(stage.dir).length,
    disturbances: disturber.counts,
    killedServices: disturber.killedServices,
    ownEnds: slots.flatMap(({ ends }) => ends),
    violations: await violationsOf(evidence, scene),
  };
}
