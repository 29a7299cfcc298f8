import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { Ownership } from '../../../../../services/chassis/host/ownership.ts';
import type { Heartbeat, Presence } from '../../../../../services/chassis/host/presence.ts';
import { PartitionWriter } from '../../../../../services/chassis/host/writer.ts';
import {
  type AcceptanceState,
  accept,
} from '../../../../../services/chassis/protocol/acceptance.ts';
import { parseHeader, type RecordHeader } from '../../../../../services/chassis/protocol/record.ts';
import { headerOf } from '../../../../support/placed-record.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';
import { epochBody } from '../../../../support/written-session.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const identity = { incarnation: 'mine', host: 'host-1', release: '0.0.0-test' };
const services = ['planner', 'supervisor'];

function bench() {
  const log = new ScriptedLog();
  const clock = new VirtualClock();
  const ports = quietPorts(log, clock);
  const gone = new Set<string>();
  const beats: Pick<Heartbeat, 'incarnation' | 'partitions'>[] = [];
  const presence = {
    isGone: (incarnation: string) => gone.has(incarnation),
    alive: () => beats,
  } as unknown as Presence;
  const writer = new PartitionWriter(at, ports, { onAppended: () => undefined });
  const ownership = new Ownership(at, { services, identity }, { ports, presence, writer });
  const acceptance: AcceptanceState = {};
  const read = (header: RecordHeader) => {
    accept(acceptance, header);
    return ownership.read(header, acceptance);
  };
  /** The newest request, as it will be read. */
  const requested = (): RecordHeader => {
    const header = parseHeader(log.appends.at(-1)?.records[0]?.headers ?? {});
    if (header === undefined) throw new Error('nothing was asked for');
    return header;
  };
  /** The request arrives and is read. */
  const land = async () => {
    log.appends.at(-1)?.acknowledge(0);
    await settled();
    return read(requested());
  };
  const own = async () => {
    ownership.ask(acceptance);
    await settled();
    return land();
  };
  return { log, clock, gone, beats, ownership, acceptance, read, requested, land, own };
}

const other = (number: number, names = services): RecordHeader =>
  headerOf(`epo_${number}`, epochBody({ services: names, number, incarnation: 'theirs' }));

/** Longer than the longest wait before asking again. */
const longMs = limits.presenceMs;

describe('a host that was given a partition', () => {
  test('asks once, and owns its services only when it has read its own epoch', async () => {
    const { ownership, acceptance, log, requested, land } = bench();
    ownership.ask(acceptance);
    ownership.ask(acceptance);
    await settled();
    expect(log.appends).toHaveLength(1);
    expect(requested()).toMatchObject({ kind: 'epoch', epoch: 1, services, incarnation: 'mine' });
    expect(ownership.owns('planner')).toBe(false);
    expect(await land()).toEqual({ won: services, lost: [] });
    expect([...ownership.epochs]).toEqual([
      ['planner', 1],
      ['supervisor', 1],
    ]);
    expect(ownership.epochOf('memory')).toBeUndefined();
  });

  test('asks for a number above all that it has read', async () => {
    const { ownership, acceptance, read, requested } = bench();
    read(other(6, ['planner']));
    ownership.ask(acceptance);
    await settled();
    expect(requested().epoch).toBe(7);
  });

  test('stays owner when others take over other services', async () => {
    const { own, read, ownership } = bench();
    await own();
    expect(read(other(9, ['memory']))).toEqual({ won: [], lost: [] });
    expect(ownership.owns('planner')).toBe(true);
  });
});

describe('a host that was overtaken', () => {
  test('stands by from the moment it reads the newer epoch, for those services alone', async () => {
    const { own, read, ownership } = bench();
    await own();
    expect(read(other(2, ['planner']))).toEqual({ won: [], lost: ['planner'] });
    expect([ownership.owns('planner'), ownership.owns('supervisor')]).toEqual([false, true]);
  });

  test('does not ask again while the owner is heard, and asks when it is gone', async () => {
    const { own, read, log, clock, gone, beats, land, requested } = bench();
    await own();
    beats.push({ incarnation: 'theirs', partitions: { 'longrein.sessions.normal/0': 2 } });
    read(other(2));
    await clock.run(10 * longMs);
    expect(log.appends).toHaveLength(1);
    gone.add('theirs');
    await clock.run(longMs);
    expect(log.appends).toHaveLength(2);
    expect(requested().epoch).toBe(3);
    expect(await land()).toEqual({ won: services, lost: [] });
  });

  test('asks again when the owner is heard, but does not name the partition as its own', async () => {
    const { own, read, log, clock, beats } = bench();
    await own();
    beats.push({ incarnation: 'theirs', partitions: { 'longrein.sessions.normal/1': 2 } });
    read(other(2));
    await clock.run(longMs);
    expect(log.appends).toHaveLength(2);
  });
});

describe('a request', () => {
  test('that was void is made again, but only when the owner is gone', async () => {
    const { ownership, acceptance, read, land, log, clock, gone } = bench();
    ownership.ask(acceptance);
    await settled();
    read(other(1));
    expect(await land()).toEqual({ won: [], lost: [] });
    await clock.run(10 * longMs);
    expect(log.appends).toHaveLength(1);
    gone.add('theirs');
    await clock.run(longMs);
    expect(log.appends).toHaveLength(2);
  });

  test('that won a part is made again for the rest when their owner is gone', async () => {
    const { ownership, acceptance, read, land, clock, gone, requested } = bench();
    ownership.ask(acceptance);
    await settled();
    read(other(5, ['planner']));
    expect(await land()).toEqual({ won: ['supervisor'], lost: [] });
    gone.add('theirs');
    await clock.run(longMs);
    expect(requested().epoch).toBe(6);
    expect(await land()).toEqual({ won: services, lost: [] });
    expect([...ownership.epochs.values()]).toEqual([6, 6]);
  });

  test('of an earlier process of the same host gives nothing', () => {
    const { read, ownership } = bench();
    const header = headerOf('epo', epochBody({ services, number: 1, incarnation: 'earlier' }));
    expect(read(header)).toEqual({ won: [], lost: [] });
    expect(ownership.epochs.size).toBe(0);
  });

  test('that the broker refuses is made again later: the right to write may come back', async () => {
    const { ownership, acceptance, log, clock } = bench();
    ownership.ask(acceptance);
    await settled();
    log.appends[0]?.fail('refused');
    await settled();
    await clock.run(longMs);
    expect(log.appends).toHaveLength(2);
  });
});

describe('a partition that was taken away', () => {
  test('is owned no more, and nothing is asked for', async () => {
    const { own, ownership, read, log, clock, gone } = bench();
    await own();
    read(other(2));
    gone.add('theirs');
    ownership.release();
    await clock.run(10 * longMs);
    expect([ownership.epochs.size, log.appends.length]).toEqual([0, 1]);
  });

  test('is not owned by a request that lands late', async () => {
    const { ownership, acceptance, land } = bench();
    ownership.ask(acceptance);
    await settled();
    ownership.release();
    expect(await land()).toEqual({ won: [], lost: [] });
    expect(ownership.epochs.size).toBe(0);
  });

  test('is owned again with a new epoch when it comes back', async () => {
    const { own, ownership, requested } = bench();
    await own();
    ownership.release();
    expect(await own()).toEqual({ won: services, lost: [] });
    expect(requested().epoch).toBe(2);
  });
});

test('after a refusal the numbers are abandoned with their epoch: nothing until the next is read', async () => {
  const { own, ownership, acceptance, log, land } = bench();
  await own();
  ownership.renew(acceptance);
  await settled();
  expect([ownership.epochs.size, log.appends.length]).toEqual([0, 2]);
  expect(await land()).toEqual({ won: services, lost: [] });
  expect(ownership.epochOf('planner')).toBe(2);
  ownership.release();
  ownership.renew(acceptance);
  await settled();
  expect(log.appends).toHaveLength(2);
});
