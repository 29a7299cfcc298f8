// Hard edge 1b.14.
import { expect, test } from 'vitest';
import { event } from '../../../../../../schemas/event.ts';
import { limits } from '../../../../../../schemas/limits.ts';
import { ClosedSessions } from '../../../../../../services/chassis/host/closed-sessions.ts';
import { SessionTable } from '../../../../../../services/chassis/host/session-table.ts';
import { Watermarks } from '../../../../../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import type { PlacedRecord } from '../../../../../../services/chassis/protocol/record.ts';
import { saveEntry } from '../../../../../../services/chassis/protocol/service-fold.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../../support/counter-world.ts';
import { idleLogic, opening, skipped, turn } from '../../../../../support/placed-record.ts';
import { quietPorts } from '../../../../../support/quiet-ports.ts';
import { inputBody, recordOf } from '../../../../../support/written-session.ts';

/** DESIGN 3.7 and 3.11: a cause that is decided to nothing leaves no record, and must not hold anything back. */

const session = 'ses_long';
const at = { topic, partition: partitionOf(session, partitions) };

test('twenty-five thousand causes answered with nothing: checkpoints and the watermark go on', async () => {
  const world = await CounterWorld.start();
  const first = await world.startHost('one');
  world.open(session);
  await world.clock.run(100);
  const codec = createFixedCodec();
  const refused = event('key.refused', { keyLog: 'key_x', waiting: 1 });
  const total = 25_000;
  for (let from = 0; from < total; from += 500) {
    const records = Array.from({ length: 500 }, (_, index) => {
      const body = { ...inputBody(session, refused), atMs: world.clock.nowMs() };
      return recordOf(`inp_many_${from + index}`, body, codec);
    });
    world.cluster.write(at, records);
    await world.clock.run(100);
  }
  await world.clock.run(5_000);
  expect(world.typesOf(session).filter((type) => type === 'task.skipped')).toEqual([]);
  expect(world.checkpointsOf(session).length).toBeGreaterThanOrEqual(5);
  const watermarks = new Watermarks(quietPorts(world.cluster.connect('eye'), world.clock));
  await world.during(watermarks.start());
  await world.during(watermarks.current());
  const mark = watermarks.of('counter', at);
  expect(mark?.offset).toBeGreaterThan(total - limits.carryForwardRecords);
  // The next host needs no more than what is above the mark, and no answer is given twice or lost.
  first.log.crash();
  await world.during(world.cluster.connect('janitor').trim(at, mark?.offset ?? 0));
  await world.startHost('two');
  world.send(session, sent());
  await world.clock.run(1_000);
  expect(world.typesOf(session).filter((type) => type === 'task.skipped')).toHaveLength(1);
});

test('a million causes folded: what a checkpoint holds stays as small as it was', () => {
  const count = 1_000_000;
  const logic = idleLogic({ name: 'idle', initial: () => 0, answers: () => true });
  const table = new SessionTable([{ logic, topics: [topic] }], new ClosedSessions(at, []));
  const marks = { catchingUp: false, marks: new Map<string, number>() };
  const begun = opening(0);
  table.fold(begun, marks);
  const seat = table.get(begun.header.session)?.seats.get('idle');
  if (seat === undefined) throw new Error('the session is not known');
  const { header, body } = turn(1, [skipped('one')]);
  let largest = 0;
  for (let offset = 1; offset <= count; offset++) {
    const record: PlacedRecord = { offset, body, header: { ...header, id: `trn_${offset}` } };
    table.fold(record, marks);
    // Decided to nothing: that is all a service has to say of it.
    seat.entry = { ...seat.entry, causes: [] };
    if (offset % 100_000 !== 0) continue;
    largest = Math.max(largest, JSON.stringify(saveEntry(seat.entry)).length);
    const cursorOffset = seat.entry.core.last.offset;
    const service = 'idle';
    table.noteCheckpoint({ ...header, kind: 'checkpoint', service, cursorOffset }, offset);
    expect(table.firstNeeded('idle', offset + 1)).toBe(offset);
  }
  expect(largest).toBeLessThan(4_000);
});
