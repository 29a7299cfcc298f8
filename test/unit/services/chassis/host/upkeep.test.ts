import { expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';
import { SessionTable } from '../../../../../services/chassis/host/session-table.ts';
import { Upkeep } from '../../../../../services/chassis/host/upkeep.ts';
import { MemoryCluster } from '../../../../../services/chassis/log/memory/memory-cluster.ts';
import { idleLogic, placed } from '../../../../support/placed-record.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';
import { openingBody } from '../../../../support/written-session.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };

/** A host that ends, with so many sessions that have moved; each checkpoint takes it a millisecond. */
function ending(sessions: number) {
  const table = new SessionTable(
    [{ logic: idleLogic({ initial: () => ({}) }), topics: [at.topic] }],
    new ClosedSessions(at, []),
  );
  for (let one = 0; one < sessions; one += 1)
    table.fold(placed(one, `inp_${one}`, openingBody(`ses_${one}`)), {
      catchingUp: false,
      marks: new Map(),
    });
  let written = 0;
  const clock = { nowMs: () => written };
  const upkeep = new Upkeep(at, {
    ports: { ...quietPorts(new MemoryCluster().connect('one'), new VirtualClock()), clock },
    identity: { incarnation: 'inc', host: 'one', release: '0.0.0-test' },
    ownership: { epochOf: () => 1, renew: () => undefined, epochs: new Map() },
    ...{ acceptance: {}, log: { expected: sessions }, table, ignored: undefined },
    writer: {
      push: () => {
        written += 1;
      },
    },
  } as unknown as ConstructorParameters<typeof Upkeep>[1]);
  return { table, upkeep, clock, written: () => written };
}

test('a host that ends checkpoints all that has moved, what is packed too', () => {
  const { table, upkeep, written } = ending(50);
  for (const slot of table.slots().slice(0, 20)) table.packWhenIdle(slot, Number.MAX_SAFE_INTEGER);
  upkeep.checkpointAll(1_000);
  expect(written()).toBe(50);
  upkeep.checkpointAll(1_000);
  expect(written()).toBe(50);
});

test('thousands that fall quiet together are packed a part at a time: work waits for each look', () => {
  const sessions = 2 * limits.packedPerRound + 20;
  const { table, upkeep, clock } = ending(sessions);
  clock.nowMs = () => Number.MAX_SAFE_INTEGER;
  const packed: number[] = [];
  for (let look = 0; look < 4; look += 1) {
    upkeep.round();
    packed.push(table.packedSize);
  }
  expect(packed).toEqual([100, 200, 220, 220]);
  expect(table.size).toBe(sessions);
});

test('what there is no time for stays for the next host', () => {
  const { upkeep, written } = ending(50);
  upkeep.checkpointAll(30);
  expect(written()).toBe(30);
});
