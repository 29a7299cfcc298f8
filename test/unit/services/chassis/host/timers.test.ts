import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { realClock } from '../../../../../services/chassis/host/real-ports.ts';
import { foldSeat, Slot, sharedCoreFold } from '../../../../../services/chassis/host/slot.ts';
import { Timers } from '../../../../../services/chassis/host/timers.ts';
import { type DraftRecord, PartitionWriter } from '../../../../../services/chassis/host/writer.ts';
import { timerFiredId } from '../../../../../services/chassis/protocol/ids.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import { foldCore } from '../../../../../services/chassis/protocol/session-core.ts';
import {
  idleLogic,
  opening,
  placed,
  session,
  timerSet,
  turn,
} from '../../../../support/placed-record.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const logic = idleLogic<null>({ initial: () => null });

class KeepingWriter extends PartitionWriter {
  readonly pushed: DraftRecord[] = [];
  override push({ records }: Parameters<PartitionWriter['push']>[0]): void {
    this.pushed.push(...records);
  }
}

function bench() {
  const clock = new VirtualClock(Date.UTC(2026, 0, 15));
  const ports = quietPorts(new ScriptedLog(), clock);
  const writer = new KeepingWriter(at, ports, { onAppended: () => undefined });
  const owner = { owns: true, epoch: 3 };
  const timers = new Timers({
    ...{ ports, writer, incarnation: 'mine' },
    epochOf: () => (owner.owns ? owner.epoch : undefined),
    slotOf: () => slot,
  });
  const slot = new Slot(session);
  const read = (record: PlacedRecord): void => {
    foldSeat(slot.seatOf(logic), record, sharedCoreFold(record));
    timers.arm(slot);
  };
  const dueAtMs = clock.nowMs() + 5_000;
  read(opening());
  return { clock, pushed: writer.pushed, owner, timers, slot, read, dueAtMs };
}

/** The firing as it will be read back. */
const fired = (offset: number, record: DraftRecord | undefined): PlacedRecord => {
  if (record === undefined) throw new Error('nothing fired');
  return placed(offset, record.id, record.body);
};

describe('a timer', () => {
  test('fires when it is due, once, as an input that names its setting', async () => {
    const { clock, pushed, read, dueAtMs, slot } = bench();
    slot.traceparent = '00-a-b-01';
    read(turn(1, [timerSet('t', dueAtMs)]));
    await clock.run(4_999);
    expect(pushed).toEqual([]);
    await clock.run(60_000);
    expect(pushed).toHaveLength(1);
    expect(pushed[0]).toMatchObject({ id: timerFiredId('trn_1', 0), traceparent: '00-a-b-01' });
    expect(pushed[0]?.body).toMatchObject({
      kind: 'input',
      session,
      source: 'supervisor',
      tenant: 'acme',
      atMs: dueAtMs,
      event: { type: 'timer.fired', data: { timer: 't', record: 'trn_1', index: 0, dueAtMs } },
    });
    expect(foldCore(slot.core ?? unread(), fired(2, pushed[0])).events).toHaveLength(1);
  });

  test('that was due long ago fires at once: the due time of the log is kept', async () => {
    const { clock, pushed, read, dueAtMs } = bench();
    await clock.run(60_000);
    read(turn(1, [timerSet('t', dueAtMs)]));
    await clock.run(0);
    expect(pushed[0]?.body).toMatchObject({ atMs: clock.nowMs() });
  });

  test('never fires earlier than the newest record of its session, by the clock of that', async () => {
    const { clock, pushed, read, dueAtMs } = bench();
    read(turn(1, [timerSet('t', dueAtMs)], { atMs: dueAtMs + 90_000 }));
    await clock.run(6_000);
    expect(pushed[0]?.body).toMatchObject({ atMs: dueAtMs + 90_000 });
  });

  test('that was superseded fires at its new time only', async () => {
    const { clock, pushed, read, dueAtMs } = bench();
    read(turn(1, [timerSet('t', dueAtMs)]));
    read(turn(2, [timerSet('t', dueAtMs + 10_000)]));
    await clock.run(14_000);
    expect(pushed).toEqual([]);
    await clock.run(2_000);
    expect(pushed.map(({ id }) => id)).toEqual([timerFiredId('trn_2', 0)]);
  });

  test('of a session that is gone from memory does not fire', async () => {
    const { clock, pushed, read, dueAtMs, timers } = bench();
    read(turn(1, [timerSet('t', dueAtMs)]));
    timers.drop(session);
    await clock.run(60_000);
    expect(pushed).toEqual([]);
  });

  test('that fired is armed again where it is set again', async () => {
    const { clock, pushed, read, dueAtMs } = bench();
    read(turn(1, [timerSet('t', dueAtMs)]));
    await clock.run(5_000);
    read(fired(2, pushed[0]));
    read(turn(3, [timerSet('t', dueAtMs + 5_000)]));
    await clock.run(5_000);
    expect(pushed).toHaveLength(2);
  });
});

describe('who does not own the service', () => {
  test('arms nothing, until it owns it', async () => {
    const { clock, pushed, read, owner, timers, slot, dueAtMs } = bench();
    owner.owns = false;
    read(turn(1, [timerSet('t', dueAtMs)]));
    await clock.run(20_000);
    expect(pushed).toEqual([]);
    owner.owns = true;
    timers.rearm(slot);
    await clock.run(0);
    expect(pushed).toHaveLength(1);
  });

  test('lets a timer pass, and fires it when it owns the service again', async () => {
    const { clock, pushed, read, owner, timers, slot, dueAtMs } = bench();
    read(turn(1, [timerSet('t', dueAtMs)]));
    owner.owns = false;
    await clock.run(20_000);
    expect(pushed).toEqual([]);
    owner.owns = true;
    timers.rearm(slot);
    await clock.run(0);
    expect(pushed).toHaveLength(1);
  });

  test('has no timers after the partition was taken away; they are armed when it comes back', async () => {
    const { clock, pushed, read, timers, slot, dueAtMs } = bench();
    read(turn(1, [timerSet('t', dueAtMs)]));
    timers.clear();
    await clock.run(20_000);
    expect(pushed).toEqual([]);
    timers.rearm(slot);
    await clock.run(0);
    expect(pushed).toHaveLength(1);
  });
});

test('a firing whose outcome is not read yet is written again at most under the same id', async () => {
  const { clock, pushed, read, timers, slot, dueAtMs } = bench();
  read(turn(1, [timerSet('t', dueAtMs)]));
  await clock.run(5_000);
  timers.rearm(slot);
  await clock.run(5_000);
  expect(new Set(pushed.map(({ id }) => id)).size).toBe(1);
  read(fired(2, pushed[0]));
  timers.rearm(slot);
  const count = pushed.length;
  await clock.run(60_000);
  expect(pushed).toHaveLength(count);
});

const unread = (): never => {
  throw new Error('the session is not known');
};

describe('the real clock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const yearMs = 365 * 86_400_000;

  test('waits longer than one timer of the runtime can', () => {
    let ran = 0;
    realClock.after(yearMs, () => {
      ran += 1;
    });
    vi.advanceTimersByTime(yearMs - 1);
    expect(ran).toBe(0);
    vi.advanceTimersByTime(1);
    expect(ran).toBe(1);
    vi.advanceTimersByTime(yearMs);
    expect(ran).toBe(1);
  });

  test('takes a wait back, also in its second part', () => {
    let ran = 0;
    const cancel = realClock.after(yearMs, () => {
      ran += 1;
    });
    vi.advanceTimersByTime(yearMs / 2);
    cancel();
    vi.advanceTimersByTime(yearMs);
    expect(ran).toBe(0);
  });

  test('runs at once what is due already', () => {
    let ran = 0;
    realClock.after(-5, () => {
      ran += 1;
    });
    vi.advanceTimersByTime(1);
    expect(ran).toBe(1);
  });
});
