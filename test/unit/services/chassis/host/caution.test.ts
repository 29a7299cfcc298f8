import { expect, test } from 'vitest';
import { Caution, type CautionParts } from '../../../../../services/chassis/host/caution.ts';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';
import { SessionTable } from '../../../../../services/chassis/host/session-table.ts';
import type { Slot } from '../../../../../services/chassis/host/slot.ts';
import { idleLogic, opening, session } from '../../../../support/placed-record.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const service = 'supervisor';

/** A host that took over a session with one open cause; what it says to the others takes its time. */
function takenOver() {
  const logic = idleLogic({ initial: () => ({}), answers: () => true });
  const table = new SessionTable([{ logic, topics: [] }], new ClosedSessions(at, []));
  table.fold(opening(), { catchingUp: false, marks: new Map() });
  const clock = new VirtualClock();
  const decided: string[] = [];
  const said: (() => void)[] = [];
  const presence = {
    markMs: () => 0,
    tracesOf: () => [{ incarnation: 'gone', is: 'dead', deciding: [], suspects: [] }],
    announce: () => new Promise<boolean>((resolve) => said.push(() => resolve(true))),
    inTurn: (work: () => Promise<void>) => work(),
  };
  const settle = (one: string): void => {
    if (caution.of(one, service) === 'now') decided.push(one);
  };
  const ports = { clock, logger: keepingLogger() };
  const parts = { at, ports, table, presence, settle } as unknown as CautionParts;
  const caution: Caution = new Caution(parts);
  const slot = table.get(session) as Slot;
  const win = (): void => caution.begin(['gone'], { slots: [slot], position: 1 }, [service]);
  return { caution, clock, decided, said, slot, win };
}

test('what is due after a takeover is decided once it was named', async () => {
  const { caution, clock, decided, said, win } = takenOver();
  win();
  await clock.run(10);
  expect(caution.of(session, service)).toBe('now');
  expect(decided).toEqual([]);
  said.shift()?.();
  await clock.run(10);
  expect(decided).toEqual([session]);
});

test('it is in a hurry until what was due is decided, and not where that waits for something', async () => {
  const { caution, clock, said, slot, win } = takenOver();
  expect(caution.hurries).toBe(false);
  win();
  expect(caution.hurries).toBe(true);
  slot.inFlight.add('trn_1');
  said.shift()?.();
  for (let round = 0; round < 5; round++) await clock.run(10);
  // Its batch is on the way: nothing can be named meanwhile.
  expect(caution.hurries).toBe(false);
  slot.inFlight.clear();
  await clock.run(1_000);
  expect(caution.hurries).toBe(true);
  said.shift()?.();
  await clock.run(10);
  expect(caution.hurries).toBe(false);
});

// Simulation, seed 245.
test('a partition that is won again while a decision is being named does not forget it', async () => {
  const { clock, decided, said, win } = takenOver();
  win();
  await clock.run(10);
  win();
  while (said.length > 0) {
    said.shift()?.();
    await clock.run(1_000);
  }
  expect(decided).toContain(session);
});

test('a call that was open is named for the service that claimed it, and for nobody else', async () => {
  const { caution, clock } = takenOver();
  const last = { record: 'trn_1', offset: 0, atMs: 0 };
  const core = { last, calls: { c1: { service: 'tool-runner', status: 'claimed' } } };
  const seat = { known: true, beginning: 0, entry: { core, causes: [], outbox: {} } };
  const services = ['supervisor', 'tool-runner', 'tool-guard'];
  const seats = new Map(services.map((name) => [name, seat]));
  const slot = { session: 'ses_1', seats } as unknown as Slot;
  caution.begin(['gone'], { slots: [slot], position: 1 }, services);
  await clock.run(10);
  expect(caution.deciding.map((one) => one.service)).toEqual(['tool-runner']);
  expect(caution.of('ses_1', 'tool-guard')).toBe('now');
});
