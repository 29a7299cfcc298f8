import { expect, test } from 'vitest';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';
import { MarkWriter } from '../../../../../services/chassis/host/mark-writer.ts';
import type { Partition } from '../../../../../services/chassis/host/partition.ts';
import { type Watermark, Watermarks } from '../../../../../services/chassis/host/watermarks.ts';
import type { Membership } from '../../../../../services/chassis/log/port.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: 'longrein.sessions.normal', partition: 2 };

function bench() {
  const log = new ScriptedLog();
  const closed = new ClosedSessions(at, []);
  const place: { offset: number; heldBy?: string } = { offset: 0 };
  const currentMarks = (): Watermark[] => [{ ...at, service: 'planner', acceptance: {}, ...place }];
  const partition = { closed, currentMarks } as unknown as Partition;
  const watermarks = new Watermarks(quietPorts(log, new VirtualClock()));
  const writer = new MarkWriter(watermarks);
  const committed: unknown[] = [];
  const membership: Membership = {
    commit: async (offsets) => void committed.push(...offsets),
    leave: async () => undefined,
  };
  const write = (): Promise<void> => writer.write([partition], membership);
  const keys = (): string[] => (log.appends.at(-1)?.records ?? []).map(({ key }) => key);
  return { log, closed, place, write, keys, committed, watermarks };
}

test('marks are written when they have moved, and the offsets of the group follow', async () => {
  const { log, place, write, committed } = bench();
  await write();
  expect(log.appends).toEqual([]);
  place.offset = 5;
  const written = write();
  await settled();
  log.appends[0]?.acknowledge(0);
  await written;
  await write();
  expect(log.appends).toHaveLength(1);
  expect(committed).toEqual([{ ...at, offset: 5 }]);
});

test('marks that were not written are written later', async () => {
  const { log, place, write } = bench();
  place.offset = 5;
  const failing = write();
  await settled();
  log.appends[0]?.fail('uncertain');
  await expect(failing).rejects.toThrow('uncertain');
  const again = write();
  await settled();
  log.appends[1]?.acknowledge(0);
  await again;
  expect(log.appends).toHaveLength(2);
});

test('no mark passes a closing that is not remembered: not after a failure, nor beside a slow write', async () => {
  const { log, closed, place, write, keys } = bench();
  closed.add('ses_a', { offset: 3, atMs: 0 });
  place.offset = 2;
  const first = write();
  await settled();
  place.offset = 9;
  const second = write();
  await settled();
  expect(log.appends).toHaveLength(1);
  log.appends[0]?.fail('uncertain');
  await expect(first).rejects.toThrow('uncertain');
  await settled();
  expect(log.appends).toHaveLength(2);
  expect(keys()).toEqual([
    'closed/longrein.sessions.normal/2/0/3-3',
    'mark/planner/longrein.sessions.normal/2',
  ]);
  log.appends[1]?.acknowledge(0);
  await second;
});

test('a mark never goes back, not even below one that this host did not write', async () => {
  const { log, place, write, watermarks } = bench();
  await watermarks.start();
  const known = { ...at, service: 'planner', offset: 40, acceptance: {} };
  void watermarks.write([known], []);
  const [append] = log.appends.splice(0);
  log.deliver({ topic: 'longrein.watermarks', partition: 0 }, append?.records ?? []);
  place.offset = 39;
  await write();
  expect(log.appends).toEqual([]);
  place.offset = 41;
  void write();
  await settled();
  expect(log.appends).toHaveLength(1);
});

test('who holds a mark that stands still is written, once', async () => {
  const { log, place, write } = bench();
  place.offset = 5;
  const first = write();
  await settled();
  log.appends[0]?.acknowledge(0);
  await first;
  place.heldBy = 'ses_stuck';
  const second = write();
  await settled();
  log.appends[1]?.acknowledge(1);
  await second;
  await write();
  expect(log.appends).toHaveLength(2);
});
