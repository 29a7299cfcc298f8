import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import type { Host } from '../../../../../services/chassis/host/host.ts';
import {
  canBePacked,
  PackedSessions,
} from '../../../../../services/chassis/host/packed-sessions.ts';
import { foldSeat, Slot, sharedCoreFold } from '../../../../../services/chassis/host/slot.ts';
import { Upkeep } from '../../../../../services/chassis/host/upkeep.ts';
import { MemoryCluster } from '../../../../../services/chassis/log/memory/memory-cluster.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import { CounterWorld, sent, timerMs } from '../../../../support/counter-world.ts';
import {
  claimed,
  idleLogic,
  input,
  opening,
  session,
  timerSet,
  turn,
} from '../../../../support/placed-record.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const names = ['supervisor', 'aggregator', 'tool-guard'];
const services = names.map((name) => ({
  logic: { ...idleLogic({ initial: () => ({ seen: 0 }) }), name },
  topics: [],
}));

function slotOf(...records: readonly PlacedRecord[]): Slot {
  const slot = new Slot(session);
  slot.traceparent = '00-a-b-01';
  for (const record of records) {
    const fold = sharedCoreFold(record);
    for (const { logic } of services) foldSeat(slot.seatOf(logic), record, fold);
  }
  return slot;
}

describe('an idle session', () => {
  const never = Number.MAX_SAFE_INTEGER;

  test('comes back as it was, and its services share what they know', () => {
    const before = slotOf(opening(0), turn(1, [timerSet('t', 5_000)]), input(2, sent()));
    before.singly = true;
    const packed = new PackedSessions(services);
    packed.pack(before);
    expect(packed.size).toBe(1);
    const after = packed.take(session);
    expect(packed.size).toBe(0);
    expect(after).toMatchObject({ traceparent: before.traceparent, singly: true });
    expect(after?.seats).toEqual(before.seats);
    // Also in the order of members, which expressions can see.
    for (const [name, { entry }] of before.seats)
      expect(JSON.stringify(after?.seats.get(name)?.entry)).toBe(JSON.stringify(entry));
    const cores = new Set([...(after?.seats.values() ?? [])].map(({ entry }) => entry.core));
    expect(cores.size).toBe(1);
    const next = turn(3, [timerSet('u', 6_000)]);
    const [one] = after?.seats.values() ?? [];
    const [same] = before.seats.values();
    if (one === undefined || same === undefined) throw new Error('no seat');
    expect(foldSeat(one, next, sharedCoreFold(next))).toEqual(
      foldSeat(same, next, sharedCoreFold(next)),
    );
  });

  test('takes a small part of what it took', () => {
    const packed = new PackedSessions(services);
    packed.pack(slotOf(opening(0)));
    const taken = slotOf(opening(0), turn(1, [timerSet('t', 5_000)]));
    packed.pack(taken);
    const { bytes } = packed['bySession'].get(session) ?? { bytes: '' };
    expect(bytes.length).toBeLessThan(JSON.stringify([...taken.seats]).length / 5);
  });

  test('is not packed while a call is open, a cause waits, a batch is on its way, or it is not quiet', () => {
    expect(canBePacked(slotOf(opening(0)), never)).toBe(true);
    expect(canBePacked(slotOf(opening(0)), 0)).toBe(false);
    expect(canBePacked(slotOf(opening(0), turn(1, [claimed('call')])), never)).toBe(false);
    const sending = slotOf(opening(0));
    sending.inFlight.add('trn');
    expect(canBePacked(sending, never)).toBe(false);
    const asked = slotOf(opening(0));
    const [seat] = asked.seats.values();
    if (seat === undefined) throw new Error('no seat');
    const { event } = { event: { ...sent(), record: 'inp', index: 0 } };
    seat.entry = { ...seat.entry, causes: [{ event: event as never, offset: 1 }] };
    expect(canBePacked(asked, never)).toBe(false);
  });
});

/** A partition with one packed session that holds the mark far behind; says how often it was asked to unpack. */
function farBehind(epochs: ReadonlyMap<string, number>) {
  const asked: number[] = [];
  const table = {
    ...{ seats: 1, slots: () => [], packIdle: () => undefined },
    unpackHolding: (offset: number) => asked.push(offset),
  };
  const clock = new VirtualClock();
  const ports = quietPorts(new MemoryCluster({ scheduler: clock }).connect('one'), clock);
  const ownership = { epochs, epochOf: (service: string) => epochs.get(service) };
  const log = { expected: 10 * limits.carryForwardRecords };
  const upkeep = new Upkeep({ topic: 't', partition: 0 }, {
    ports,
    ownership,
    log,
    table,
  } as never);
  return { upkeep, asked };
}

test('only an owner unpacks what is to be carried forward: nobody else writes checkpoints', () => {
  const standby = farBehind(new Map());
  standby.upkeep.round();
  expect(standby.asked).toEqual([]);
  const owner = farBehind(new Map([['supervisor', 1]]));
  owner.upkeep.round();
  expect(owner.asked).toHaveLength(1);
});

const packedIn = (host: Host): number =>
  [...host['partitions'].values()].reduce((sum, one) => sum + one['table'].packedSize, 0);

describe('a host', () => {
  test('packs what is quiet; what comes, and timers, find it all the same', async () => {
    const world = await CounterWorld.start();
    const { host } = await world.startHost('one');
    world.open(session);
    world.send(session, sent());
    await world.clock.run(limits.sessionIdleMs + 20_000);
    expect(packedIn(host)).toBe(1);
    world.send(session, sent());
    await world.clock.run(timerMs);
    expect(packedIn(host)).toBe(0);
    expect(world.typesOf(session).filter((one) => one === 'task.skipped')).toHaveLength(2);
  });

  test('leaves a checkpoint of what was packed when it stops', async () => {
    const world = await CounterWorld.start();
    const { host } = await world.startHost('one');
    world.open(session);
    world.send(session, sent());
    await world.clock.run(limits.sessionIdleMs + 20_000);
    await world.during(host.stop(8_000));
    expect(world.checkpointsOf(session)).toHaveLength(1);
  });
});
