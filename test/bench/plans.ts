import { setTimeout as sleep } from 'node:timers/promises';
import { keysTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../services/chassis/log/port.ts';
import { goalLogId } from '../../services/chassis/protocol/ids.ts';
import { Harness } from '../../services/client/index.ts';
import { aPlan, aTask, opened, planTurn } from '../support/plan-fixtures.ts';
import { SupervisorBench } from '../support/supervisor-bench.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { tailOf } from './loops.ts';

/** How many tasks of one plan the supervisor schedules a second: one decision, inputs evaluated, timers set. */
export function scheduling(tasks = 1_000): void {
  const plan = aPlan(Array.from({ length: tasks }, (_, index) => aTask(`t${index}`)));
  const perSecond: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const bench = new SupervisorBench();
    bench.input(opened());
    bench.append(planTurn(plan), 'planner');
    const startMs = performance.now();
    const drafts = bench.propose('supervisor');
    const seconds = (performance.now() - startMs) / 1_000;
    const scheduled = drafts.filter(({ type }) => type === 'task.scheduled').length;
    if (scheduled !== tasks) throw new Error(`${scheduled} of ${tasks} tasks were scheduled`);
    perSecond.push(tasks / seconds);
  }
  print({ bench: 'plan-scheduled', tasks, perSecond: percentile(perSecond, 0.5) });
}

/** Milliseconds of one goal's way to its first event, hop by hop. */
type Way = Readonly<{
  /** Until the goal is sent: what the client looks up. */
  beforeMs: number;
  /** Until the broker has it. */
  appendMs: number;
  /** Until intake has read it and sends the first record of its log. */
  intakeMs: number;
  /** Until the client has read that. */
  followMs: number;
  wholeMs: number;
}>;

/** Times by this machine's clock, with parts of milliseconds. */
const nowMs = (): number => performance.timeOrigin + performance.now();

/** When the first record of each goal log was sent. */
class GoalLogs {
  readonly sentMs = new Map<string, number>();

  /** Who reads it closes it. */
  tail(log: LogPort) {
    return tailOf(log, keysTopic, ({ key, timestampMs }) => {
      if (!this.sentMs.has(key)) this.sentMs.set(key, timestampMs);
    });
  }
}

async function wayOf(harness: Harness, logs: GoalLogs): Promise<Way> {
  const calledMs = nowMs();
  const at = { firstMs: 0, submittedMs: 0, goalMs: 0, session: '' };
  await harness.run({
    ...{ plan: 'echo', inputs: { said: 'hello' } },
    onSubmitted: ({ session }) => Object.assign(at, { session, submittedMs: nowMs() }),
    onEvent: ({ event }) => {
      if (at.firstMs === 0) at.goalMs = event.atMs;
      at.firstMs ||= nowMs();
    },
  });
  const sentMs = logs.sentMs.get(goalLogId(at.session)) ?? Number.NaN;
  return {
    beforeMs: at.goalMs - calledMs,
    appendMs: at.submittedMs - at.goalMs,
    intakeMs: sentMs - at.submittedMs,
    followMs: at.firstMs - sentMs,
    wholeMs: at.firstMs - calledMs,
  };
}

const warmingGoals = 10;

/** From the client's call to the first event of its goal, on a warm stack: each goal after a rest, or right after the last. */
export async function firstEvent(config: RuntimeConfig, hopMs: number, goals = 100): Promise<void> {
  const catalog = new URL('../../../test/fixtures/catalog', import.meta.url).pathname;
  const host = await startHostProcess(['all'], { LONGREIN_CATALOG: catalog });
  const harness = new Harness({ brokers: config.brokers });
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const logs = new GoalLogs();
  const reader = await logs.tail(log);
  const some = async (count: number, restMs: number): Promise<Way[]> => {
    const ways: Way[] = [];
    for (let index = 0; index < count; index += 1) {
      ways.push(await wayOf(harness, logs));
      await sleep(restMs);
    }
    return ways;
  };
  try {
    await some(warmingGoals, 0);
    tell('client-to-first-event', hopMs, await some(goals, 250));
    tell('client-to-first-event-at-once', hopMs, await some(goals, 0));
  } finally {
    await harness.close();
    await reader.close();
    await log.close();
    await host.stop();
  }
}

const parts = ['beforeMs', 'appendMs', 'intakeMs', 'followMs'] as const;

/** The whole at p50 and p95, what each hop takes at p50, and how many appends and fetches of the raw client that is. */
function tell(bench: string, hopMs: number, ways: readonly Way[]): void {
  const whole = ways.map(({ wholeMs }) => wholeMs);
  const p50Ms = percentile(whole, 0.5);
  const of = (part: (typeof parts)[number]): number =>
    percentile(
      ways.map((way) => way[part]),
      0.5,
    );
  print({
    ...{ bench, goals: ways.length, p50Ms, p95Ms: percentile(whole, 0.95) },
    ...Object.fromEntries(parts.map((part) => [part, of(part)])),
    rawHops: p50Ms / hopMs,
  });
}
