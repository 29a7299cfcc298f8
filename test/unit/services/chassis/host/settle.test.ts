import { expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../../schemas/event.ts';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';
import { SessionTable } from '../../../../../services/chassis/host/session-table.ts';
import { Settler, type SettlerParts } from '../../../../../services/chassis/host/settle.ts';
import type { Slot } from '../../../../../services/chassis/host/slot.ts';
import type { Batch } from '../../../../../services/chassis/host/writer.ts';
import { AppendError } from '../../../../../services/chassis/log/append-error.ts';
import { MemoryCluster } from '../../../../../services/chassis/log/memory/memory-cluster.ts';
import { idleLogic, opening, session } from '../../../../support/placed-record.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };

/** Answers an opening with one turn. */
const logic = idleLogic<{ answered: boolean }>({
  initial: () => ({ answered: false }),
  evolve: (state, { type }: SeenEvent) => (type === 'task.skipped' ? { answered: true } : state),
  answers: ({ type }: SeenEvent) => type === 'session.opened',
  decide: ({ answered }) =>
    answered ? [] : [event('task.skipped', { task: 'one', because: 'counted' })],
});

/** `lost`: calls of the service that nobody runs. */
function bench(lost: Record<string, string> = {}) {
  const services = [{ logic, topics: [at.topic] }];
  const table = new SessionTable(services, new ClosedSessions(at, []));
  table.fold(opening(0), { catchingUp: false, marks: new Map() });
  const slot = table.get(session) as Slot;
  const pushed: Batch[] = [];
  const epoch = { number: 2 as number | undefined, renewed: 0 };
  const clock = new VirtualClock();
  const parts = {
    services,
    ports: quietPorts(new MemoryCluster({ scheduler: clock }).connect('one'), clock),
    identity: { incarnation: 'inc', host: 'one', release: '0.0.0-test' },
    ownership: {
      owns: () => epoch.number !== undefined,
      epochOf: () => epoch.number,
      renew: () => {
        epoch.renewed += 1;
        epoch.number = undefined;
      },
    },
    ...{ presence: { isGone: () => false }, effects: { lostCalls: () => lost } },
    ...{ outlet: {}, acceptance: {}, writer: { push: (batch: Batch) => pushed.push(batch) } },
    caution: { of: () => 'now', names: () => false, inherited: () => false },
    onSettle: () => settler.settle(slot),
  } as unknown as SettlerParts;
  const settler: Settler = new Settler(parts);
  return { settler, slot, pushed, epoch };
}

const epochsOf = (batches: readonly Batch[]): unknown[] =>
  batches.map(({ records }) => (records[0]?.body as { epoch?: number } | undefined)?.epoch);

test('one batch of a session is on its way at a time', () => {
  const { settler, slot, pushed } = bench();
  settler.settle(slot);
  settler.settle(slot);
  expect(epochsOf(pushed)).toEqual([2]);
});

test('a lost call is looked for where nothing of the session is on the way, and not decided twice', () => {
  const { settler, slot } = bench({ c1: 'runner-gone' });
  const seat = slot.seats.get(logic.name);
  expect(settler.withLostCalls(slot)).toEqual([]);
  const call = { service: logic.name, status: 'claimed' };
  (slot.core as { calls: object }).calls = { c1: call };
  expect(settler.withLostCalls(slot)).toEqual([seat]);
  settler.settle(slot);
  expect(slot.inFlight.size).toBe(1);
  expect(settler.withLostCalls(slot)).toEqual([]);
});

test('a batch that was dropped after its epoch is decided again at once where the next one is owned', () => {
  const { settler, slot, pushed, epoch } = bench();
  settler.settle(slot);
  epoch.number = 4;
  settler.settle(slot);
  expect(pushed[0]?.stale?.()).toBe(true);
  pushed[0]?.onDropped?.();
  expect(epochsOf(pushed)).toEqual([2, 4]);
});

test('a batch that was refused takes its epoch with it: nothing is decided under it any more', () => {
  const { settler, slot, pushed, epoch } = bench();
  settler.settle(slot);
  pushed[0]?.onRefused?.(new AppendError('not-allowed', 'not authorised'), true);
  expect(epoch.renewed).toBe(1);
  expect(pushed).toHaveLength(1);
  epoch.number = 3;
  settler.settle(slot);
  expect(epochsOf(pushed)).toEqual([2, 3]);
});
