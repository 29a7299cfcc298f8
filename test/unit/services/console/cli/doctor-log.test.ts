import { describe, expect, test } from 'vitest';
import {
  partitionsOf,
  presenceTopic,
  sessionTopic,
  topicConfig,
  topics,
} from '../../../../../schemas/topics.ts';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import { Halts } from '../../../../../services/chassis/host/halts.ts';
import { RecordQueue } from '../../../../../services/chassis/host/record-queue.ts';
import { anyLogic } from '../../../../../services/chassis/host/service-context.ts';
import { startOf } from '../../../../../services/chassis/host/start-position.ts';
import { requireSameTopic } from '../../../../../services/chassis/host/topic-identity.ts';
import type { Place, Watermark } from '../../../../../services/chassis/host/watermark-records.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import { positionOutOfRange, topicUnknown } from '../../../../../services/chassis/log/log-error.ts';
import { MemoryCluster } from '../../../../../services/chassis/log/memory/memory-cluster.ts';
import { exitCodeOf } from '../../../../../services/console/cli/commands/doctor.ts';
import { exitCodes } from '../../../../../services/console/cli/exit-code.ts';
import { readLogState } from '../../../../../services/console/cli/log-state.ts';
import { checksOf } from '../../../../../services/console/cli/troubles.ts';
import { plannerLogic } from '../../../../../services/planner/decide.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

/** What `longrein doctor` says of everything that stops a partition, or that costs: from the error to the exit code. */

const topic = sessionTopic('normal');
const at = { topic, partition: 1 };
const where = `${topic}/1`;

/** The error as it is thrown. */
async function thrownBy(run: () => unknown): Promise<Error> {
  try {
    await run();
  } catch (thrown) {
    return thrown as Error;
  }
  throw new Error('nothing was thrown');
}

const service = { logic: anyLogic(plannerLogic), topics: [topic] };

function start(offset: number | undefined, bounds: { low: number; high: number }): unknown {
  const mark = { ...at, service: 'janitor', acceptance: {} };
  const of = () => (offset === undefined ? undefined : ({ ...mark, offset } as Watermark));
  const watermarks = { of, trimAt: (): Place | undefined => undefined };
  return startOf({ services: [service], watermarks }, at, bounds);
}

const gap = (): Promise<Error> =>
  new Promise((resolve) => {
    const flow = { pause: () => undefined, resume: () => undefined, skip: () => undefined };
    const parts = { partition: at, reading: flow, process: () => undefined };
    const queue = new RecordQueue(5, { ...parts, onTaken: () => undefined, onHalt: resolve });
    queue.push([{ ...at, offset: 7, key: '', headers: {}, value: null, timestampMs: 0 }]);
  });

const recreated = (): Promise<Error> => {
  const known = { topic: () => ({ topic, id: 'old', atMs: 1_000 }) };
  return thrownBy(() => requireSameTopic({ topicId: async () => 'new' }, known, topic));
};

const unreadable = new LongreinError('RECORDS_UNREADABLE', 'records have a codec', {
  fix: 'Set compression.type=gzip.',
});

/** Code -> the error, and what the fix has to name. */
const halting: readonly (readonly [string, () => Promise<Error>, string])[] = [
  ['TOPIC_UNKNOWN', async () => topicUnknown(topic), `longrein topics reset ${topic} --reason`],
  ['TOPIC_RECREATED', recreated, `longrein topics reset ${topic} --reason`],
  [
    'LOG_TRUNCATED',
    () => thrownBy(() => start(3, { low: 9, high: 20 })),
    `longrein topics reset ${topic} --partition 1 --reason`,
  ],
  [
    'LOG_SHORTER',
    () => thrownBy(() => start(30, { low: 9, high: 20 })),
    `longrein topics reset ${topic} --partition 1 --reason`,
  ],
  ['LOG_GAP', gap, `longrein topics reset ${topic} --partition 1 --from-end --reason`],
  [
    'PARTITION_FAILED',
    async () => new TypeError('no such member'),
    `longrein topics reset ${topic} --partition 1 --from-end --reason`,
  ],
  [
    'RECORDS_UNREADABLE',
    async () => unreadable,
    `longrein topics reset ${topic} --partition 1 --from-end --reason`,
  ],
  ['OFFSET_OUT_OF_RANGE', async () => positionOutOfRange(at, 3), 'nothing: the partition is read'],
  [
    'PARTITION_STOPPED',
    async () => new LongreinError('PARTITION_STOPPED', 'effects run still'),
    'nothing: the partition is read again',
  ],
];

/** A log in memory whose one host says this of itself. */
async function stateWith(said: object, services: readonly string[] = ['janitor']) {
  const clock = new VirtualClock();
  const cluster = new MemoryCluster({ scheduler: clock, nowMs: () => clock.nowMs() });
  const log = cluster.connect('person');
  const specs = topics.map((one) => ({
    name: one.name,
    partitions: partitionsOf(one, 2),
    config: topicConfig(one, 1_048_576),
  }));
  const during = async <T>(pending: Promise<T>): Promise<T> => {
    let settled = false;
    const done = pending.finally(() => {
      settled = true;
    });
    done.catch(() => undefined);
    for (let rounds = 0; !settled && rounds < 1_000; rounds++) await clock.run(5, () => settled);
    return done;
  };
  await during(log.ensureTopics(specs));
  const ownership = { owned: {}, reads: [] };
  const beat = {
    incarnation: 'inc',
    host: 'host-1',
    release: '1',
    services,
    ...ownership,
    ...said,
  };
  const value = createFixedCodec().encode('presence', { ...beat, atMs: clock.nowMs() });
  await during(
    log.append({ topic: presenceTopic, partition: 0 }, [{ key: 'inc', headers: {}, value }]),
  );
  return during(readLogState(log, clock.nowMs()));
}

/** What stops a partition, as its host tells others of it. */
function haltedBy(error: Error) {
  const clock = new VirtualClock();
  const halts = new Halts(quietPorts(new MemoryCluster().connect('one'), clock), () => undefined);
  halts.add(at, error);
  const halted = halts.all();
  halts.stop();
  return halted;
}

describe('doctor, of a partition that stands still', () => {
  test.each(halting)('%s: what happened, where, and what mends it', async (code, errorOf, fix) => {
    const error = await errorOf();
    const { troubles } = await stateWith({ halted: haltedBy(error) });
    const [check, ...others] = checksOf(troubles);
    expect(others).toEqual([]);
    expect(check).toMatchObject({ name: where, ok: false });
    expect(check?.detail).toContain(error.message);
    expect(check?.detail).toContain(`[${code}, on host-1, since `);
    expect(check?.fix).toContain(fix);
    expect(exitCodeOf(checksOf(troubles))).toBe(exitCodes.failed);
  });
});

describe('doctor, of what costs and stops nothing', () => {
  const standsBy = { [where]: { sessions: 4, because: 'a.b.v2', release: '9.9' } };
  const cases = [
    ['NEWER_RELEASE', { standsBy }, 'start hosts of the newer release'],
    ['RECORDS_IGNORED', { ignored: { [where]: 3 } }, 'longrein dead-letters list'],
  ] as const;

  test.each(cases)('%s: all is well enough, and what to do is said', async (code, said, fix) => {
    const { troubles } = await stateWith(said);
    const checks = checksOf(troubles);
    expect(checks).toHaveLength(1);
    expect(checks[0]).toMatchObject({ name: where, ok: true });
    expect(checks[0]?.detail).toContain(`[${code}`);
    expect(checks[0]?.fix).toContain(fix);
    expect(exitCodeOf(checks)).toBe(exitCodes.done);
  });

  test('JANITOR_MISSING: where services run and none of them deletes', async () => {
    const { troubles } = await stateWith({}, ['planner']);
    expect(checksOf(troubles)).toMatchObject([
      {
        name: 'janitor',
        ok: true,
        fix: expect.stringContaining('longrein start janitor') as string,
      },
    ]);
  });

  test('nothing: says so', async () => {
    const checks = checksOf((await stateWith({})).troubles);
    expect(checks).toEqual([{ name: 'log', ok: true, detail: 'nothing stands still' }]);
    expect(exitCodeOf(checks)).toBe(exitCodes.done);
  });
});
