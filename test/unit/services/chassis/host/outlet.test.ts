import { describe, expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../../schemas/event.ts';
import { keysTopic, resultsTopic } from '../../../../../schemas/topics.ts';
import { type DeliveryOrigin, Outlet } from '../../../../../services/chassis/host/outlet.ts';
import { WriterPool } from '../../../../../services/chassis/host/writer-pool.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../services/chassis/log/partition.ts';
import { inputId } from '../../../../../services/chassis/protocol/ids.ts';
import type { InputBody } from '../../../../../services/chassis/protocol/record.ts';
import type { Delivery } from '../../../../../services/chassis/protocol/service-logic.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const partitions = 12;
const origin: DeliveryOrigin = {
  event: { atMs: 1_700_000_000_000, record: 'trn_1', index: 0 } as SeenEvent,
  service: 'intake',
  session: { session: 'goal_x', tenant: 'acme', principal: 'mary', labels: { team: 'red' } },
  traceparent: '00-a-b-01',
  wanted: () => true,
};
const relay: Delivery = {
  to: 'log',
  topic: keysTopic,
  session: 'key_1',
  identity: ['requested', 'goal_x'],
  event: event('key.requested', { goalLog: 'goal_x', session: 'ses_x' }),
};
const message: Delivery = {
  to: 'public',
  topic: resultsTopic,
  key: 'ses_x',
  type: 'longrein.result.v1',
  id: 'msg_1',
  value: { goalId: 'g', status: 'completed' },
};

function bench() {
  const log = new ScriptedLog();
  const clock = new VirtualClock();
  const ports = quietPorts(log, clock);
  const pool = new WriterPool(ports, () => undefined);
  const outlet = new Outlet({
    ports,
    partitions: () => partitions,
    writer: (partition) => pool.of(partition),
    learn: () => undefined,
  });
  return { log, clock, outlet };
}

describe('a relay', () => {
  test('is an input of the other log, with all that its reader must know', async () => {
    const { log, outlet } = bench();
    void outlet.deliver(relay, origin);
    await settled();
    const [sent] = log.appends;
    expect(sent?.at).toEqual({ topic: keysTopic, partition: partitionOf('key_1', partitions) });
    const [record] = sent?.records ?? [];
    expect(record?.headers).toMatchObject({
      ce_id: inputId('key_1', ['requested', 'goal_x']),
      ce_subject: 'key_1',
      lr_kind: 'input',
      lr_types: 'key.requested',
      traceparent: '00-a-b-01',
    });
    const body = createFixedCodec().decode(record?.value ?? new Uint8Array()).body as InputBody;
    expect(body).toMatchObject({
      session: 'key_1',
      source: 'intake',
      atMs: 1_700_000_000_000,
      tenant: 'acme',
      principal: 'mary',
      labels: { team: 'red' },
    });
  });
});

describe('a public message', () => {
  test('is one event of CloudEvents, by its key', async () => {
    const { log, outlet } = bench();
    void outlet.deliver(message, origin);
    await settled();
    const [sent] = log.appends;
    expect(sent?.at).toEqual({ topic: resultsTopic, partition: partitionOf('ses_x', partitions) });
    const [record] = sent?.records ?? [];
    expect(record?.key).toBe('ses_x');
    expect(record?.headers).toEqual({
      ce_specversion: '1.0',
      ce_id: 'msg_1',
      ce_type: 'longrein.result.v1',
      ce_source: '/services/intake',
      ce_subject: 'goal_x',
      ce_time: '2023-11-14T22:13:20.000Z',
      'content-type': 'application/json',
      traceparent: '00-a-b-01',
    });
    const decoded = createFixedCodec().decode(record?.value ?? new Uint8Array());
    expect(decoded).toMatchObject({ subject: 'result', body: { goalId: 'g' } });
  });

  test('that is no result carries the schema of a dead letter', async () => {
    const { log, outlet } = bench();
    void outlet.deliver({ ...message, type: 'longrein.dead-letter.v1' }, origin);
    await settled();
    const value = log.appends[0]?.records[0]?.value ?? new Uint8Array();
    expect(createFixedCodec().decode(value).subject).toBe('dead-letter');
  });
});

test.each([relay, message])('the same delivery again is the same bytes ($to)', async (delivery) => {
  const bytes: string[] = [];
  for (const waitMs of [0, 86_400_000]) {
    const { log, clock, outlet } = bench();
    await clock.run(waitMs);
    void outlet.deliver(delivery, origin);
    await settled();
    bytes.push(JSON.stringify(log.appends[0]?.records));
  }
  expect(bytes[0]).toBe(bytes[1]);
});

test.each([relay, message])(
  'it is done when the broker has it, and not before ($to)',
  async (one) => {
    const { log, clock, outlet } = bench();
    let done = false;
    const delivered = outlet.deliver(one, origin).then(() => {
      done = true;
    });
    await settled();
    log.appends[0]?.fail('uncertain');
    await settled();
    await clock.run(100);
    expect(done).toBe(false);
    log.appends[1]?.acknowledge(3);
    await delivered;
    expect(log.appends[1]?.records).toEqual(log.appends[0]?.records);
  },
);

test.each([relay, message])('it says so when the broker will never take it ($to)', async (one) => {
  const { log, outlet } = bench();
  const delivered = outlet.deliver(one, origin);
  await settled();
  log.appends[0]?.fail('too-large');
  const refused = { code: 'DELIVERY_TOO_LARGE', message: 'scripted: too-large' };
  expect(await delivered).toEqual({ refused });
});

test.each([relay, message])(
  'what is not allowed is sent again until it is, and once another host sends it no more ($to)',
  async (one) => {
    const { log, clock, outlet } = bench();
    const want = { still: true };
    const delivered = outlet.deliver(one, { ...origin, wanted: () => want.still });
    const refuse = async (): Promise<void> => {
      await settled();
      log.appends.at(-1)?.fail('refused');
      await settled();
    };
    await refuse();
    await clock.run(1_000);
    expect(log.appends[1]?.records).toEqual(log.appends[0]?.records);
    await refuse();
    want.still = false;
    await clock.run(10_000);
    expect(await delivered).toBe('unwanted');
    expect(log.appends).toHaveLength(2);
  },
);

test('what is not wanted is not even sent', async () => {
  const { log, outlet } = bench();
  expect(await outlet.deliver(message, { ...origin, wanted: () => false })).toBe('unwanted');
  expect(log.appends).toEqual([]);
});

test('deliveries to one destination keep their order', async () => {
  const { log, outlet } = bench();
  for (const id of ['msg_1', 'msg_2', 'msg_3']) void outlet.deliver({ ...message, id }, origin);
  await settled();
  log.appends[0]?.acknowledge(0);
  await settled();
  const ids = log.appends.flatMap(({ records }) => records.map(({ headers }) => headers['ce_id']));
  expect(ids).toEqual(['msg_1', 'msg_2', 'msg_3']);
});
