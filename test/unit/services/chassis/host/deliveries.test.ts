import { expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../../schemas/event.ts';
import { resultsTopic } from '../../../../../schemas/topics.ts';
import { Deliveries } from '../../../../../services/chassis/host/deliveries.ts';
import type { Delivered, Outlet } from '../../../../../services/chassis/host/outlet.ts';
import { type Seat, Slot } from '../../../../../services/chassis/host/slot.ts';
import {
  addressOf,
  type Delivery,
} from '../../../../../services/chassis/protocol/service-logic.ts';
import { idleLogic } from '../../../../support/placed-record.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';
import { settled } from '../../../../support/scripted-log.ts';

type Sent = Readonly<{ id: string; end(outcome: Delivered): void; fail(): void }>;

const messageTo = (key: string, id: string): Delivery => ({
  ...{ to: 'public', topic: `${resultsTopic}.${key}`, key, type: 'longrein.result.v1', id },
  value: {},
});

/** Each event goes to the destinations that its `because` names. */
function bench(...events: readonly string[]) {
  const sent: Sent[] = [];
  const settles: string[] = [];
  const owner = { owns: true };
  const logger = keepingLogger();
  const outlet = {
    deliver: (delivery: Delivery, { wanted }: { wanted(): boolean }) =>
      new Promise<Delivered>((resolve, reject) => {
        if (!wanted()) return resolve('unwanted');
        const id = delivery.to === 'public' ? delivery.id : '';
        sent.push({ id, end: resolve, fail: () => reject(new Error('no such topic')) });
      }),
  } as unknown as Outlet;
  const deliveries = new Deliveries({
    ...{ outlet, ports: { logger }, owns: () => owner.owns },
    onSettle: (session) => settles.push(session),
  });
  const logic = {
    ...idleLogic<null>({ initial: () => null }),
    deliveries: ({ data, record }: SeenEvent): Delivery[] =>
      (data as { because: string }).because.split('+').map((key) => messageTo(key, record)),
  };
  const slot = new Slot('ses_one');
  const seat: Seat = slot.seatOf(logic);
  const outbox = events.map((because, index) => {
    const { type, data } = event('task.skipped', { task: 't', because });
    const seen = { type, data, record: `trn_${index}`, index: 0 } as unknown as SeenEvent;
    return [addressOf(seen), seen] as const;
  });
  seat.entry = { ...seat.entry, outbox: Object.fromEntries(outbox) };
  const send = async (): Promise<void> => {
    deliveries.send(slot, seat);
    await settled();
  };
  const end = async (at: number, outcome: Delivered): Promise<void> => {
    sent[at]?.end(outcome);
    await settled();
  };
  return { sent, settles, owner, logger, slot, send, end, ids: () => sent.map(({ id }) => id) };
}

test('deliveries to one destination go one at a time, in the order of their events', async () => {
  const { send, end, ids, slot, settles } = bench('a', 'a', 'a');
  await send();
  await send();
  expect(ids()).toEqual(['trn_0']);
  await end(0, 'acknowledged');
  expect([...slot.acknowledged]).toEqual(['trn_0#0']);
  expect(settles).toEqual(['ses_one']);
  expect(ids()).toEqual(['trn_0', 'trn_1']);
  await end(1, 'acknowledged');
  expect(ids()).toEqual(['trn_0', 'trn_1', 'trn_2']);
});

test('one destination does not wait for another', async () => {
  const { send, end, ids, slot } = bench('a', 'b', 'a+b');
  await send();
  expect(ids()).toEqual(['trn_0', 'trn_1']);
  await end(1, 'acknowledged');
  expect(ids()).toEqual(['trn_0', 'trn_1', 'trn_2']);
  await end(2, 'acknowledged');
  expect([...slot.acknowledged]).toEqual(['trn_1#0']);
  await end(0, 'acknowledged');
  await end(3, 'acknowledged');
  expect([...slot.acknowledged]).toEqual(['trn_1#0', 'trn_0#0', 'trn_2#0']);
});

test('what is refused for good is noted with its reason, and the next one goes', async () => {
  const { send, end, ids, slot, logger } = bench('a+b', 'a');
  await send();
  const refused = { code: 'DELIVERY_TOO_LARGE', message: 'more than 1 byte' };
  await end(0, { refused });
  expect(ids()).toEqual(['trn_0', 'trn_0', 'trn_1']);
  expect(slot.refused.size).toBe(0);
  await end(1, 'acknowledged');
  expect([...slot.refused]).toEqual([['trn_0#0', refused]]);
  expect(slot.acknowledged.size).toBe(0);
  expect(logger.lines.map(({ level }) => level)).toEqual(['error']);
});

test('what cannot be sent at all is refused as well', async () => {
  const { send, sent, slot } = bench('a');
  await send();
  sent[0]?.fail();
  await settled();
  const refused = { code: 'DELIVERY_IMPOSSIBLE', message: 'no such topic' };
  expect([...slot.refused]).toEqual([['trn_0#0', refused]]);
});

test('without ownership nothing more is sent, and all that is open again once it is won', async () => {
  const { send, end, ids, owner, settles } = bench('a', 'a');
  await send();
  owner.owns = false;
  await end(0, 'unwanted');
  expect([ids(), settles]).toEqual([['trn_0'], []]);
  owner.owns = true;
  await send();
  expect(ids()).toEqual(['trn_0', 'trn_0']);
  await end(1, 'acknowledged');
  expect(ids()).toEqual(['trn_0', 'trn_0', 'trn_1']);
});
