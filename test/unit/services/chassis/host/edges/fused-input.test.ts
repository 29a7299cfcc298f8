import { describe, expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../../../schemas/event.ts';
import { sessionTopic } from '../../../../../../schemas/topics.ts';
import type { EffectJob, HostedService } from '../../../../../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import type { AppendFault } from '../../../../../../services/chassis/log/memory/memory-network.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import type { OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';
import {
  type AcceptanceState,
  accept,
} from '../../../../../../services/chassis/protocol/acceptance.ts';
import { outcomeId } from '../../../../../../services/chassis/protocol/ids.ts';
import {
  type PlacedRecord,
  parseHeader,
} from '../../../../../../services/chassis/protocol/record.ts';
import type { AnyLogic } from '../../../../../../services/chassis/protocol/service-logic.ts';
import {
  foldCore,
  unknownSession,
} from '../../../../../../services/chassis/protocol/session-core.ts';
import { chainLogic, hosted } from '../../../../../support/chain-services.ts';
import {
  CounterWorld,
  granted,
  partitions,
  pinged,
  topic,
} from '../../../../../support/counter-world.ts';
import { completed, idleLogic } from '../../../../../support/placed-record.ts';
import { inputBody, recordOf } from '../../../../../support/written-session.ts';

/** An input that a host writes itself goes out with all that it sets off (DESIGN 3.5). */

const session = 'ses_fused';
const at = { topic, partition: partitionOf(session, partitions) };
const codec = createFixedCodec();

type Calls = Readonly<Record<'grants' | 'claims' | 'ends' | 'done' | 'pings' | 'sets', number>>;

/** Claims a call for each grant, sets a timer for each ping, and tells `b` of every outcome and firing. */
const caller: AnyLogic = idleLogic<Calls>({
  name: 'a',
  initial: () => ({ grants: 0, claims: 0, ends: 0, done: 0, pings: 0, sets: 0 }),
  evolve(state, { type, service }) {
    if (type === 'key.granted') return { ...state, grants: state.grants + 1 };
    if (type === 'key.refused') return { ...state, pings: state.pings + 1 };
    if (type === 'tool.claimed') return { ...state, claims: state.claims + 1 };
    if (type === 'timer.set') return { ...state, sets: state.sets + 1 };
    if (type === 'tool.completed' || type === 'timer.fired')
      return { ...state, ends: state.ends + 1 };
    return type === 'task.skipped' && service === 'a' ? { ...state, done: state.done + 1 } : state;
  },
  answers: ({ type }) =>
    ['key.granted', 'key.refused', 'tool.completed', 'timer.fired'].includes(type),
  decide({ grants, claims, ends, done, pings, sets }, { nowMs }) {
    const told = Array.from({ length: ends - done }, (_, n) =>
      event('task.skipped', { task: `t${done + n}`, because: 'counted' }),
    );
    const asked = Array.from({ length: grants - claims }, (_, n) => {
      const claim = { call: `c${claims + n + 1}`, tool: 'count', attempt: 1 };
      return event('tool.claimed', { ...claim, deadlineAtMs: nowMs + 60_000 });
    });
    const set = pings > sets ? [event('timer.set', { timer: 't', dueAtMs: nowMs + 5_000 })] : [];
    return [...told, ...asked, ...set];
  },
});

const answer = chainLogic('b', 'a');

async function worldOf(
  fault: (records: readonly OutgoingRecord[], program: string) => AppendFault = () => 'ok',
): Promise<CounterWorld> {
  const world = await CounterWorld.start({
    append: (where, records, program) => (where.topic === topic ? fault(records, program) : 'ok'),
  });
  const jobOf = (claim: SeenEvent): EffectJob => {
    const { call, deadlineAtMs } = claim.data as { call: string; deadlineAtMs: number };
    const run: EffectJob['run'] = () => {
      world.started.push(call);
      return new Promise((resolve) => {
        world.clock.after(world.effectMs, () => resolve(completed(call, '')));
      });
    };
    return { call, deadlineAtMs, run, notStarted: () => completed(call, 'not started') };
  };
  const first: HostedService = {
    ...{ logic: caller, topics: [sessionTopic('normal')] },
    effects: { jobOf, mayRun: () => true },
  };
  world.servicesOf = (name) =>
    [...name].flatMap((letter) => (letter === 'a' ? first : letter === 'b' ? hosted(answer) : []));
  return world;
}

type Seen = PlacedRecord & Readonly<{ accepted: boolean; ignored: string | undefined }>;

/** The session's inputs and turns in order, with what every reader makes of them. */
function read(world: CounterWorld): Seen[] {
  const acceptance: AcceptanceState = {};
  let core = unknownSession(session);
  return world.records(session).flatMap(({ headers, offset, value }): Seen[] => {
    const header = parseHeader(headers);
    if (header === undefined) return [];
    const accepted = accept(acceptance, header);
    if (header.session !== session || header.kind === 'checkpoint') return [];
    const body = codec.decode(value ?? new Uint8Array()).body as PlacedRecord['body'];
    const record = { offset, header, body };
    if (!accepted) return [{ ...record, accepted, ignored: 'not-accepted' }];
    const step = foldCore(core, record);
    core = step.core;
    return [{ ...record, accepted, ignored: step.ignored }];
  });
}

/** What each record says, who says it, and why it does not count. */
const told = (records: readonly Seen[]): string[] =>
  records.map(({ header, ignored }) =>
    [header.service, ...header.types, ...(ignored === undefined ? [] : [ignored])].join(' '),
  );

const batchesOf = (records: readonly Seen[]): string[][] => {
  const batches = new Map<string, string[]>();
  for (const { header } of records)
    batches.set(header.batch, [...(batches.get(header.batch) ?? []), header.service]);
  return [...batches.values()];
};

const holdsOutcome = (records: readonly OutgoingRecord[]): boolean =>
  records.some(({ headers }) => headers['lr_types'] === 'tool.completed');

describe('an outcome', () => {
  test('and all that it sets off are one batch, whose turns foresaw it', async () => {
    const world = await worldOf();
    await world.startHost('ab');
    world.open(session);
    world.send(session, granted());
    await world.clock.run(1_000);
    const records = read(world).slice(2);
    expect(told(records)).toEqual([
      'a tool.claimed',
      'a tool.completed',
      'a task.skipped',
      'b task.skipped',
    ]);
    const [, outcome, first, second] = records;
    expect(batchesOf(records)).toEqual([['a'], ['a', 'a', 'b']]);
    expect(first?.header.foreseen).toEqual([outcome?.header.id]);
    expect(second?.header.foreseen).toEqual([outcome?.header.id, first?.header.id]);
  });

  test('goes by itself where nobody here has an answer to it', async () => {
    const world = await worldOf();
    await world.startHost('b');
    await world.startHost('a');
    world.open(session);
    world.send(session, granted());
    await world.clock.run(1_000);
    const outcome = read(world).find(({ header }) => header.types.includes('tool.completed'));
    expect(outcome?.body).toMatchObject({ foreseeable: true });
    world.servicesOf = () => [];
    expect(batchesOf(read(world)).filter((batch) => batch.length > 1)).toEqual([['a', 'a']]);
  });

  test('that was there already takes with it the turns that foresaw this one', async () => {
    let held = false;
    const world = await worldOf((records, program) => {
      if (held || program !== 'ab' || !holdsOutcome(records)) return 'ok';
      held = true;
      return { delayMs: 2_000, timeoutMs: 10_000 };
    });
    await world.startHost('ab');
    world.open(session);
    world.send(session, granted());
    await world.clock.run(1_000);
    const claim = read(world).at(-1)?.header.id ?? '';
    const body = inputBody(session, completed('c1', `${claim}#0`), {
      atMs: world.clock.nowMs(),
      foreseeable: true,
    });
    world.cluster.write(at, [recordOf(outcomeId('c1', `${claim}#0`), body, codec)]);
    await world.clock.run(5_000);
    expect(told(read(world).slice(2))).toEqual([
      'a tool.claimed',
      'outside tool.completed',
      'a tool.completed late',
      'a task.skipped foreseen-void',
      'b task.skipped foreseen-void',
      'a task.skipped',
      'b task.skipped',
    ]);
  });

  test('counts where a service was taken over meanwhile, and what foresaw it is decided again', async () => {
    let held = false;
    const world = await worldOf((records, program) => {
      if (held || program !== 'ab' || !holdsOutcome(records)) return 'ok';
      held = true;
      return { delayMs: 15_000, timeoutMs: 60_000 };
    });
    await world.startHost('ab');
    world.open(session);
    world.send(session, granted());
    await world.clock.run(1_000);
    await world.startHost('b');
    await world.clock.run(30_000);
    expect(told(read(world).slice(2))).toEqual([
      'a tool.claimed',
      'a tool.completed',
      'a task.skipped',
      'b task.skipped not-accepted',
      'b task.skipped',
    ]);
    expect(world.started).toEqual(['c1']);
  });

  test('whose batch the broker will never take goes by itself', async () => {
    const world = await worldOf((records) =>
      holdsOutcome(records) && records.length > 1 ? 'too-large' : 'ok',
    );
    await world.startHost('ab');
    world.open(session);
    world.send(session, granted());
    await world.clock.run(3_000);
    expect(told(read(world).slice(2))).toEqual([
      'a tool.claimed',
      'a tool.completed',
      'a task.skipped',
      'b task.skipped',
    ]);
    expect(batchesOf(read(world)).every((batch) => batch.length === 1)).toBe(true);
  });
});

test('a timer that fired and all that it sets off are one batch', async () => {
  const world = await worldOf();
  await world.startHost('ab');
  world.open(session);
  world.send(session, pinged());
  await world.clock.run(8_000);
  const records = read(world).slice(2);
  expect(told(records)).toEqual([
    'a timer.set',
    'a timer.fired',
    'a task.skipped',
    'b task.skipped',
  ]);
  expect(batchesOf(records)).toEqual([['a'], ['a', 'a', 'b']]);
});
