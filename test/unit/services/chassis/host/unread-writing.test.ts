import { expect, test } from 'vitest';
import { UnreadWriting } from '../../../../../services/chassis/host/unread-writing.ts';
import type { PartitionName } from '../../../../../services/chassis/log/port.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const name = { topic: 'longrein.sessions.normal', partition: 3 };

function bench() {
  const clock = new VirtualClock();
  const logger = keepingLogger();
  const watch = new UnreadWriting({ clock, logger });
  const assigned: [PartitionName, number][] = [];
  const reader = { assign: (at: PartitionName, from: number) => void assigned.push([at, from]) };
  /** Looks every five seconds for so long. */
  const look = async (
    forMs: number,
    one: { position: number; unread: number; halted?: boolean },
  ) => {
    const { position, unread, halted = false } = one;
    for (let ms = 0; ms < forMs; ms += 5_000) {
      watch.look([{ name, position, halted, log: { unread } }], reader);
      await clock.run(5_000);
    }
  };
  return { logger, assigned, look };
}

test('what a host wrote and does not get back is read again from where its partition stands, and told', async () => {
  const { logger, assigned, look } = bench();
  await look(30_000, { position: 7, unread: 12 });
  expect(assigned).toEqual([]);
  await look(5_000, { position: 7, unread: 12 });
  expect(assigned).toEqual([[name, 7]]);
  expect(logger.lines.map(({ fields }) => fields)).toMatchObject([
    { ...name, offset: 7, records: 12, code: 'OWN_RECORDS_UNREAD' },
  ]);
  await look(25_000, { position: 7, unread: 12 });
  expect(assigned).toHaveLength(1);
});

test('a partition that moves, has read all or stands still for a known reason is left alone', async () => {
  const { assigned, look } = bench();
  for (let position = 0; position < 10; position++) await look(20_000, { position, unread: 5 });
  await look(60_000, { position: 50, unread: 0 });
  await look(20_000, { position: 50, unread: 3 });
  await look(5_000, { position: 50, unread: 0 });
  await look(20_000, { position: 50, unread: 3 });
  await look(60_000, { position: 50, unread: 3, halted: true });
  expect(assigned).toEqual([]);
});
