import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { Ownership } from '../../../../../services/chassis/host/ownership.ts';
import type { ListedEpoch, Presence } from '../../../../../services/chassis/host/presence.ts';
import { PartitionWriter } from '../../../../../services/chassis/host/writer.ts';
import {
  type AcceptanceState,
  accept,
} from '../../../../../services/chassis/protocol/acceptance.ts';
import { parseHeader, type RecordHeader } from '../../../../../services/chassis/protocol/record.ts';
import { headerOf } from '../../../../support/placed-record.ts';
import { keepingLogger, quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';
import { epochBody } from '../../../../support/written-session.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const identity = { incarnation: 'mine', host: 'host-1', release: '0.0.0-test' };
const services = ['planner', 'supervisor'];

function bench() {
  const log = new ScriptedLog();
  const clock = new VirtualClock();
  const logger = keepingLogger();
  const ports = quietPorts(log, clock, { logger });
  /** Instances that have ended, and epochs that their owners list: `incarnation/epoch`. */
  const gone = new Set<string>();
  const listed = new Set<string>();
  const startMs = clock.nowMs();
  const presence = {
    markMs: () => clock.nowMs() - startMs,
    unlistedMs: ({ incarnation, epoch, partition }: ListedEpoch, sinceMs: number) => {
      expect(partition).toBe('longrein.sessions.normal/0');
      if (gone.has(incarnation)) return Number.POSITIVE_INFINITY;
      return listed.has(`${incarnation}/${epoch}`) ? 0 : clock.nowMs() - startMs - sinceMs;
    },
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
  return {
    log,
    clock,
    logger,
    gone,
    listed,
    writer,
    ownership,
    acceptance,
    read,
    requested,
    land,
    own,
  };
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
    const { own, read, log, clock, gone, listed, land, requested } = bench();
    await own();
    listed.add('theirs/2');
    read(other(2));
    await clock.run(10 * longMs);
    expect(log.appends).toHaveLength(1);
    gone.add('theirs');
    await clock.run(longMs);
    expect(log.appends).toHaveLength(2);
    expect(requested().epoch).toBe(3);
    expect(await land()).toEqual({ won: services, lost: [] });
  });

  test('asks again a time T after it read the epoch, where the owner never lists it', async () => {
    const { own, read, log, clock, listed } = bench();
    await own();
    listed.add('theirs/1');
    await clock.run(10 * longMs);
    read(other(2));
    await clock.run(longMs);
    expect(log.appends).toHaveLength(1);
    await clock.run(longMs / 2);
    expect(log.appends).toHaveLength(2);
  });

  test('of another group waits three times as long: the own group of the owner comes first', async () => {
    const { own, read, log, clock } = bench();
    await own();
    read(other(2, ['planner', 'supervisor', 'aggregator']));
    await clock.run(3 * longMs);
    expect(log.appends).toHaveLength(1);
    await clock.run(longMs / 2);
    expect(log.appends).toHaveLength(2);
  });

  test('waits anew for each owner: who takes over in between gets its time', async () => {
    const { own, read, log, clock } = bench();
    await own();
    read(other(2));
    await clock.run(longMs - 1);
    read(other(3));
    await clock.run(longMs);
    expect(log.appends).toHaveLength(1);
  });
});

describe('a request', () => {
  test('that was void is made again, but only when the owner is gone', async () => {
    const { ownership, acceptance, read, land, log, clock, gone, listed } = bench();
    ownership.ask(acceptance);
    await settled();
    listed.add('theirs/1');
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
    const { ownership, acceptance, log, clock, logger } = bench();
    ownership.ask(acceptance);
    await settled();
    log.appends[0]?.fail('refused');
    await settled();
    await clock.run(longMs);
    expect(log.appends).toHaveLength(2);
    expect(logger.lines.filter(({ level }) => level === 'error').at(-1)).toMatchObject({
      message: 'partition not served: epoch refused',
      fields: { ...at, refusals: 1 },
    });
  });

  test('that is refused again and again is made less and less often, and still lands in the end', async () => {
    const { ownership, acceptance, log, clock, land } = bench();
    ownership.ask(acceptance);
    for (let refusals = 0; refusals < 10; refusals++) {
      await settled();
      log.appends.at(-1)?.fail('refused');
      await settled();
      await clock.run(60_000, () => log.appends.length > refusals + 1);
    }
    const count = log.appends.length;
    expect(count).toBe(11);
    log.appends.at(-1)?.fail('refused');
    await settled();
    await clock.run(30_000);
    expect(log.appends).toHaveLength(count);
    await clock.run(30_000);
    expect(await land()).toEqual({ won: services, lost: [] });
  });

  test('that was not sent before the partition was taken away is not sent at all', async () => {
    const { ownership, acceptance, log, writer } = bench();
    const held = { records: [{ id: 'epo_0', body: epochBody(), traceparent: '' }] };
    writer.push(held);
    await settled();
    ownership.ask(acceptance);
    ownership.release();
    log.appends[0]?.acknowledge(0);
    await settled();
    expect(log.appends).toHaveLength(1);
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
