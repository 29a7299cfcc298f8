import { expect, test } from 'vitest';
import { type Draft, event, type SeenEvent, text } from '../../../../../schemas/event.ts';
import { partitionsOf, sessionTopic, topicConfig, topics } from '../../../../../schemas/topics.ts';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import { Host } from '../../../../../services/chassis/host/host.ts';
import type { HostedService } from '../../../../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import { MemoryCluster } from '../../../../../services/chassis/log/memory/memory-cluster.ts';
import { partitionOf } from '../../../../../services/chassis/log/partition.ts';
import type { LogPort } from '../../../../../services/chassis/log/port.ts';
import { headersOf, type InputBody } from '../../../../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../../../../services/chassis/protocol/seal.ts';
import type {
  AnyLogic,
  ServiceLogic,
} from '../../../../../services/chassis/protocol/service-logic.ts';
import { keepingLogger, quietPorts } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

type Count = Readonly<{
  opened: boolean;
  asked: boolean;
  call: string;
  answers: number;
  late: number;
}>;

const topic = sessionTopic('normal');

/** A small service: opening -> permitted call -> claim -> effect -> outcome -> closed. */
const runner: ServiceLogic<Count> = {
  name: 'runner',
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => ({ opened: false, asked: false, call: '', answers: 0, late: 0 }),
  evolve(state, seen) {
    if (seen.type === 'session.opened')
      return { ...state, opened: true, call: `call-${seen.data.goalId}` };
    if (seen.type === 'tool.claimed') return { ...state, asked: true };
    if (seen.type === 'tool.completed') return { ...state, answers: state.answers + 1 };
    return state;
  },
  answers: (seen) => ['session.opened', 'tool.completed'].includes(seen.type),
  decide(state, { nowMs, lost }) {
    const drafts: Draft[] = [];
    const again = lost[state.call] !== undefined;
    if (state.opened && (!state.asked || again)) {
      const claim = {
        call: state.call,
        tool: 'count',
        attempt: again ? 2 : 1,
        deadlineAtMs: nowMs + 60_000,
      };
      drafts.push(event('tool.claimed', claim));
    }
    if (state.answers > 0) drafts.push(event('session.closed', {}));
    return drafts;
  },
};

function stopped(call: string, attempt: number): Draft<'tool.failed'> {
  const facts = { call, claim: '', attempt, tool: 'count', durationMs: 1 };
  const data = { ...facts, code: 'STOPPED', class: 'cancelled', retryable: false } as const;
  return event('tool.failed', data, { message: text('it was told to stop') });
}

function hosted(effects: string[], takesMs: number, clock: VirtualClock): HostedService {
  return {
    logic: runner as unknown as AnyLogic,
    topics: [topic],
    effects: {
      mayRun: () => true,
      jobOf: (claim: SeenEvent) => {
        const { call, attempt, deadlineAtMs } = claim.data as unknown as {
          call: string;
          attempt: number;
          deadlineAtMs: number;
        };
        const outcome = (): Draft<'tool.completed'> =>
          event(
            'tool.completed',
            { call, claim: '', attempt, tool: 'count', durationMs: takesMs },
            { result: text('x'.repeat(40_000)) },
          );
        return {
          call,
          deadlineAtMs,
          notStarted: outcome,
          run: ({ signal }) =>
            new Promise((resolve) => {
              effects.push(call);
              signal.addEventListener('abort', () => resolve(stopped(call, attempt)));
              clock.after(takesMs, () => resolve(outcome()));
            }),
        };
      },
    },
  };
}

function openingOf(goalId: string): { id: string; body: InputBody } {
  const session = `ses_${goalId}`;
  const draft = event(
    'session.opened',
    { goalId, source: '', priority: 'normal', lane: 'normal', goalLog: 'goal_x', openedAtMs: 1 },
    { goal: text('count') },
  );
  const body: InputBody = {
    kind: 'input',
    session,
    source: 'intake',
    atMs: 1_700_000_000_000,
    tenant: 'acme',
    principal: '',
    labels: {},
    event: sealEvent(saltOf(session), draft),
  };
  return { id: `inp_${goalId}`, body };
}

async function world(): Promise<{ clock: VirtualClock; cluster: MemoryCluster }> {
  const clock = new VirtualClock();
  const cluster = new MemoryCluster({ scheduler: clock, nowMs: () => clock.nowMs() });
  const specs = topics.map((one) => ({
    name: one.name,
    partitions: partitionsOf(one, 2),
    config: topicConfig(one, 1_048_576),
  }));
  const done = cluster.connect('setup').ensureTopics(specs);
  await clock.run(100);
  await done;
  return { clock, cluster };
}

async function startHost(
  name: string,
  parts: {
    clock: VirtualClock;
    cluster: MemoryCluster;
    effects: string[];
    takesMs: number;
    seed: number;
    changed?: (log: LogPort) => LogPort;
  },
) {
  const { clock, cluster, effects, takesMs, seed } = parts;
  const log = cluster.connect(name);
  const seen = parts.changed?.(log) ?? log;
  const logger = keepingLogger();
  const host = new Host({
    name,
    release: '0.0.0-test',
    services: [hosted(effects, takesMs, clock)],
    ports: quietPorts(seen, clock, { seed, logger, blobs: blobsOf(cluster) }),
    housekeepingMs: 1_000,
    onFatal: (error) => {
      throw error;
    },
  });
  const started = host.start([]);
  await clock.run(50);
  await started;
  return { host, log, logger };
}

import { createMemoryBlobs } from '../../../../../services/chassis/content/blobs.ts';

const shared = new WeakMap<object, ReturnType<typeof createMemoryBlobs>>();
function blobsOf(cluster: object): ReturnType<typeof createMemoryBlobs> {
  const known = shared.get(cluster) ?? createMemoryBlobs();
  shared.set(cluster, known);
  return known;
}

async function publish(cluster: MemoryCluster, goalId: string): Promise<void> {
  const { id, body } = openingOf(goalId);
  const place = { batch: id, batchIndex: 0, traceparent: '' };
  const record = {
    key: body.session,
    headers: headersOf(id, body, place),
    value: createFixedCodec().encode('input', body),
  };
  const partition = partitionOf(body.session, 2);
  void cluster.connect('outside').append({ topic, partition }, [record]);
}

function typesIn(cluster: MemoryCluster, goalId: string): string[] {
  const partition = partitionOf(`ses_${goalId}`, 2);
  return cluster
    .records({ topic, partition })
    .filter((record) => record.headers['ce_subject'] === `ses_${goalId}`)
    .map((record) => record.headers['lr_types'] ?? record.headers['lr_kind'] ?? '');
}

test('a session runs from its opening through an effect to its end', async () => {
  const { clock, cluster } = await world();
  const effects: string[] = [];
  const { host } = await startHost('one', { clock, cluster, effects, takesMs: 100, seed: 7 });
  await clock.run(1_000, () => host.ready);
  expect(host.ready).toBe(true);
  await publish(cluster, 'g1');
  await publish(cluster, 'g1');
  await clock.run(5_000);
  expect(effects).toEqual(['call-g1']);
  expect(typesIn(cluster, 'g1')).toEqual([
    'session.opened',
    'session.opened',
    'tool.claimed',
    'tool.completed',
    'session.closed',
  ]);
});

test('after a crash the successor finds the claim lost and goes on; nothing is decided twice', async () => {
  const { clock, cluster } = await world();
  const effects: string[] = [];
  const first = await startHost('one', { clock, cluster, effects, takesMs: 20_000, seed: 7 });
  await clock.run(1_000, () => first.host.ready);
  await publish(cluster, 'g2');
  await clock.run(2_000, () => effects.length === 1);
  first.log.crash();
  const second = await startHost('two', { clock, cluster, effects, takesMs: 50, seed: 8 });
  await clock.run(60_000, () => typesIn(cluster, 'g2').includes('session.closed'));
  expect(second.host.ready).toBe(true);
  expect(effects).toEqual(['call-g2', 'call-g2']);
  const types = typesIn(cluster, 'g2');
  expect(types.filter((type) => type === 'tool.claimed')).toHaveLength(2);
  expect(types.filter((type) => type === 'session.closed')).toHaveLength(1);
});

test('a host that is told to stop lets what runs end, and leaves the next step to the next host', async () => {
  const { clock, cluster } = await world();
  const effects: string[] = [];
  const first = await startHost('one', { clock, cluster, effects, takesMs: 2_000, seed: 7 });
  await clock.run(1_000, () => first.host.ready);
  await publish(cluster, 'g3');
  await clock.run(1_000, () => effects.length === 1);
  const ended = first.host.stop(8_000);
  await clock.run(8_000);
  await ended;
  expect(typesIn(cluster, 'g3')).toContain('tool.completed');
  expect(typesIn(cluster, 'g3')).not.toContain('session.closed');
  await startHost('two', { clock, cluster, effects, takesMs: 50, seed: 8 });
  await clock.run(10_000, () => typesIn(cluster, 'g3').includes('session.closed'));
  expect(typesIn(cluster, 'g3')).toContain('session.closed');
  expect(effects).toEqual(['call-g3']);
});

test('what a stop cuts short has not failed: the next host may run it again, and at once', async () => {
  const { clock, cluster } = await world();
  const effects: string[] = [];
  const first = await startHost('one', { clock, cluster, effects, takesMs: 60_000, seed: 7 });
  await clock.run(1_000, () => first.host.ready);
  await publish(cluster, 'g4');
  await clock.run(1_000, () => effects.length === 1);
  const ended = first.host.stop(8_000);
  await clock.run(8_000);
  await ended;
  expect(typesIn(cluster, 'g4')).not.toContain('tool.failed');
  await startHost('two', { clock, cluster, effects, takesMs: 50, seed: 8 });
  await clock.run(2_000, () => typesIn(cluster, 'g4').includes('session.closed'));
  expect(typesIn(cluster, 'g4')).toContain('session.closed');
  expect(effects).toEqual(['call-g4', 'call-g4']);
});

test('a partition that cannot be looked at for a while is opened when it can', async () => {
  const { clock, cluster } = await world();
  const effects: string[] = [];
  let failures = 5;
  let joined = false;
  const changed = (log: LogPort): LogPort => ({
    append: (...given) => log.append(...given),
    join: (...given) => {
      joined = true;
      return log.join(...given);
    },
    reader: (...given) => log.reader(...given),
    ensureTopics: (...given) => log.ensureTopics(...given),
    trim: (...given) => log.trim(...given),
    topicId: (...given) => log.topicId(...given),
    offsetAt: (...given) => log.offsetAt(...given),
    close: () => log.close(),
    bounds: (name) => {
      // The start itself asks too, and has its own patience.
      if (name !== topic || !joined || failures === 0) return log.bounds(name);
      failures -= 1;
      throw new LongreinError('BROKER_AWAY', 'the broker is away', { retryable: true });
    },
  });
  const { host, logger } = await startHost('one', {
    ...{ clock, cluster, effects, takesMs: 50, seed: 7 },
    changed,
  });
  await clock.run(10_000, () => host.ready);
  expect(host.ready).toBe(true);
  expect(failures).toBe(0);
  expect(logger.lines.filter(({ message }) => message.endsWith('has to wait'))).toHaveLength(5);
});
