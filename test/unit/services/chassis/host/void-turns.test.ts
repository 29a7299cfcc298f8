import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { Slot } from '../../../../../services/chassis/host/slot.ts';
import { noteTurn, voidPoison } from '../../../../../services/chassis/host/void-turns.ts';
import { partitionOf } from '../../../../../services/chassis/log/partition.ts';
import type { RecordHeader } from '../../../../../services/chassis/protocol/record.ts';
import { CounterWorld, partitions, sent } from '../../../../support/counter-world.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';

const header = { service: 'counter' } as RecordHeader;

function read(slot: Slot, counted: boolean, times: number) {
  const logger = keepingLogger();
  for (let n = 0; n < times; n++) noteTurn(slot, header, counted, { logger });
  return logger.lines.map(({ message }) => message);
}

describe('own turns that do not count under the own current epoch', () => {
  test('are decided again a few times; then the service gives up, with an alarm', () => {
    const slot = new Slot('ses_a');
    expect(read(slot, false, limits.voidTurnsMax - 1)).toEqual([]);
    expect(voidPoison(slot, 'counter')).toBeUndefined();
    expect(read(slot, false, 1)).toHaveLength(1);
    expect(voidPoison(slot, 'counter')).toMatchObject({ code: 'TURN_VOID' });
    expect(voidPoison(slot, 'other')).toBeUndefined();
  });

  test('say nothing more where not even the giving up counts', () => {
    const slot = new Slot('ses_a');
    read(slot, false, limits.voidTurnsMax);
    expect(read(slot, false, limits.voidTurnsMax)).toHaveLength(1);
    expect(voidPoison(slot, 'counter')).toBe('silent');
    expect(read(slot, false, 100)).toEqual([]);
  });

  test('are forgotten with the first that counts', () => {
    const slot = new Slot('ses_a');
    read(slot, false, 2 * limits.voidTurnsMax);
    read(slot, true, 1);
    expect(voidPoison(slot, 'counter')).toBeUndefined();
  });
});

test('a host whose numbers are wrong asks for a new epoch, and does not append without end', async () => {
  const names = ['ses_a', 'ses_b', 'ses_c', 'ses_d'];
  const [session = ''] = names.filter((one) => partitionOf(one, partitions) === 0);
  const world = await CounterWorld.start();
  // As a bug or a proxy would: the second turn of the first epoch carries a number that was used.
  await world.startHost('one', 1_000, (log) => ({
    ...log,
    append: (at, records) =>
      log.append(
        at,
        records.map((record) => {
          const { lr_epoch: epoch, lr_sequence: sequence } = record.headers;
          if (epoch !== '1' || sequence !== '2') return record;
          return { ...record, headers: { ...record.headers, lr_sequence: '1' } };
        }),
      ),
  }));
  world.open(session);
  for (let n = 0; n < 3; n++) {
    world.send(session, sent());
    await world.clock.run(500);
  }
  await world.clock.run(20_000);
  expect(world.countOf(session)).toMatchObject({ sent: 3, answered: 3 });
  const turns = world.records(session).filter(({ headers }) => headers['lr_kind'] === 'turn');
  expect(turns.length).toBeLessThan(8);
});
