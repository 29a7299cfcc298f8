import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../../schemas/limits.ts';
import type { AppendFault } from '../../../../../../services/chassis/log/memory/memory-network.ts';
import type { LogRecord, OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';
import {
  type AcceptanceState,
  accept,
} from '../../../../../../services/chassis/protocol/acceptance.ts';
import {
  parseHeader,
  type RecordHeader,
} from '../../../../../../services/chassis/protocol/record.ts';
import { chain, chainLogic, hosted } from '../../../../../support/chain-services.ts';
import { CounterWorld, sent, topic } from '../../../../../support/counter-world.ts';

/** Edge 6: turns that foresaw each other, as hosts write and read them. */

const session = 'ses_fused';

type Faulty = (records: readonly OutgoingRecord[], program: string) => AppendFault;

async function worldOf(fault: Faulty = () => 'ok'): Promise<CounterWorld> {
  const world = await CounterWorld.start({
    append: (at, records, program) => (at.topic === topic ? fault(records, program) : 'ok'),
  });
  world.servicesOf = (name) =>
    [...name].flatMap((letter) => {
      const logic = chain[letter as keyof typeof chain];
      return logic === undefined ? [] : [hosted(logic)];
    });
  return world;
}

type Turn = RecordHeader & Readonly<{ offset: number; accepted: boolean }>;

/** Turns of the session in order. */
function turnsOf(records: readonly LogRecord[]): Turn[] {
  const acceptance: AcceptanceState = {};
  return records.flatMap(({ headers, offset }) => {
    const header = parseHeader(headers);
    if (header === undefined) return [];
    const accepted = accept(acceptance, header);
    return header.kind === 'turn' ? [{ ...header, offset, accepted }] : [];
  });
}

const turnsIn = (world: CounterWorld): Turn[] => turnsOf(world.records(session));
const hasTurn = (records: readonly OutgoingRecord[]): boolean =>
  records.some(({ headers }) => headers['lr_kind'] === 'turn');

describe('a host of several services', () => {
  test('appends a cascade as one batch, in which each turn names what it foresaw', async () => {
    const world = await worldOf();
    await world.startHost('abc');
    world.open(session);
    world.send(session, sent());
    await world.clock.run(1_000);
    const turns = turnsIn(world);
    const [a = '', b = ''] = turns.map(({ id }) => id);
    expect(turns.map(({ service }) => service)).toEqual(['a', 'b', 'c']);
    expect(turns.map(({ foreseen }) => foreseen)).toEqual([[], [a], [a, b]]);
    expect(turns.map(({ batch, batchIndex }) => [batch, batchIndex])).toEqual([
      [a, 0],
      [a, 1],
      [a, 2],
    ]);
    expect(new Set(turns.map(({ base }) => base)).size).toBe(1);
    expect(turns.map(({ offset }) => offset - (turns[0]?.offset ?? 0))).toEqual([0, 1, 2]);
  });

  test('ends a batch that would be too long, and goes on with the next', async () => {
    const world = await worldOf();
    const all = [chainLogic('a', '', 100), chainLogic('b', 'a', 100)];
    world.servicesOf = () => all.map(hosted);
    await world.startHost('ab');
    world.open(session);
    world.send(session, sent());
    await world.clock.run(2_000);
    const sizes = new Map<string, number>();
    for (const { batch } of turnsIn(world)) sizes.set(batch, (sizes.get(batch) ?? 0) + 1);
    expect(turnsIn(world)).toHaveLength(200);
    expect(Math.max(...sizes.values())).toBe(limits.batchTurnsMax);
    expect(sizes.size).toBe(Math.ceil(200 / limits.batchTurnsMax));
  });

  test('sends turn by turn where the broker does not take them together', async () => {
    const together = (records: readonly OutgoingRecord[]): boolean =>
      records.filter(({ headers }) => headers['lr_kind'] === 'turn').length > 1;
    const world = await worldOf((records) => (together(records) ? 'too-large' : 'ok'));
    await world.startHost('abc');
    world.open(session);
    for (let n = 0; n < 2; n++) {
      world.send(session, sent());
      await world.clock.run(1_000);
    }
    const turns = turnsIn(world);
    expect(turns.map(({ service }) => service).join('')).toBe('abcabc');
    expect(turns.flatMap(({ types }) => types)).not.toContain('decision.failed');
    expect(turns.flatMap(({ foreseen }) => foreseen)).toEqual([]);
  });
});

describe('a batch one of whose services was taken over', () => {
  /** The batch of `abc` is on the way while `b` becomes another host's. */
  async function takenOver(): Promise<CounterWorld> {
    let held = false;
    const world = await worldOf((records, program) => {
      if (held || program !== 'abc' || !hasTurn(records)) return 'ok';
      held = true;
      return { delayMs: 15_000, timeoutMs: 60_000 };
    });
    await world.startHost('abc');
    world.open(session);
    world.send(session, sent());
    await world.clock.run(1_000);
    await world.startHost('b');
    expect(turnsIn(world)).toEqual([]);
    await world.clock.run(30_000);
    return world;
  }

  test('counts up to that, and is void from there on', async () => {
    const turns = turnsIn(await takenOver());
    const [a = '', b = ''] = turns.map(({ id }) => id);
    expect(turns.slice(0, 3).map(({ service, accepted }) => [service, accepted])).toEqual([
      ['a', true],
      ['b', false],
      ['c', true],
    ]);
    expect(turns[2]?.foreseen).toEqual([a, b]);
  });

  test('leaves its causes to be decided again, by whoever owns each service then', async () => {
    const world = await takenOver();
    const turns = turnsIn(world);
    expect(turns.slice(3).map(({ service, accepted }) => [service, accepted])).toEqual([
      ['b', true],
      ['c', true],
    ]);
    const [, , , b, c] = turns;
    expect(b?.incarnation).not.toBe(c?.incarnation);
    expect(c?.foreseen).toEqual([]);
    world.send(session, sent());
    await world.clock.run(1_000);
    expect(
      turnsIn(world)
        .slice(5)
        .map(({ service }) => service)
        .join(''),
    ).toBe('abc');
  });
});
