import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import {
  foreignCode,
  IgnoredRecords,
} from '../../../../../services/chassis/host/ignored-records.ts';
import type { Delivered } from '../../../../../services/chassis/host/outlet.ts';
import type { LogRecord } from '../../../../../services/chassis/log/port.ts';
import type { Delivery } from '../../../../../services/chassis/protocol/service-logic.ts';
import { idleLogic } from '../../../../support/placed-record.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';

const at = { topic: 'longrein.sessions.normal', partition: 3 };
const unreadable = { code: 'RECORD_UNREADABLE', message: 'no JSON' };

const record = (offset: number): LogRecord => ({
  ...{ ...at, offset, key: 'ses_a', timestampMs: 1_000 },
  headers: { lr_kind: 'input', ce_id: `inp_${offset}`, ce_subject: 'ses_a' },
  value: Buffer.from('bad'),
});

const keeping = (keeper: string | undefined) =>
  keeper === undefined
    ? []
    : [{ logic: idleLogic({ name: keeper, initial: () => ({}) }), keepsLetters: [at.topic] }];

function bench(keeper: string | undefined = 'supervisor', answer: Delivered = 'acknowledged') {
  const sent: Extract<Delivery, { to: 'public' }>[] = [];
  const logger = keepingLogger();
  const state = { owns: true, answer };
  const ignored = new IgnoredRecords({
    ...{ at, services: keeping(keeper), ports: { logger } },
    owns: () => state.owns,
    outlet: {
      deliver: async (delivery) => {
        if (delivery.to === 'public') sent.push(delivery);
        return state.answer;
      },
    },
  });
  return { ignored, sent, logger, state };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a record that nobody can read', () => {
  test('gets a dead letter with reason, origin and bytes, and the mark waits for it', async () => {
    const { ignored, sent } = bench();
    ignored.note(record(7), unreadable);
    expect(ignored.firstUnsent).toBe(7);
    await settled();
    expect(ignored.firstUnsent).toBe(Number.POSITIVE_INFINITY);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      ...{ topic: 'longrein.dead-letters', key: 'ses_a', type: 'longrein.dead-letter.v1' },
      value: {
        ...{ reason: unreadable, origin: { ...at, offset: 7 }, session: 'ses_a', record: 'inp_7' },
        ...{ original: Buffer.from('bad').toString('base64'), bytes: 3 },
        at: '1970-01-01T00:00:01.000Z',
      },
    });
  });

  test('has the same letter after a restart, byte for byte', async () => {
    const [first, second] = [bench(), bench()];
    for (const { ignored } of [first, second]) ignored.note(record(7), unreadable);
    await settled();
    expect(second.sent).toEqual(first.sent);
  });

  test('gets it from who owns the keeper, once it is owned', async () => {
    const { ignored, sent, state } = bench();
    state.owns = false;
    ignored.note(record(7), unreadable);
    await settled();
    expect(sent).toEqual([]);
    state.owns = true;
    ignored.send();
    await settled();
    expect(sent).toHaveLength(1);
  });

  test('gets none from a host without the keeper of the partition', async () => {
    const { ignored, sent } = bench('');
    const other = new IgnoredRecords({
      ...{ at, services: keeping(undefined), ports: { logger: keepingLogger() } },
      owns: () => true,
      outlet: { deliver: async () => 'acknowledged' },
    });
    other.note(record(7), unreadable);
    expect([other.count, other.firstUnsent]).toEqual([1, Number.POSITIVE_INFINITY]);
    expect([ignored.count, sent.length]).toEqual([0, 0]);
  });

  test('whose letter the broker never takes gets one without its bytes; then it is said and left', async () => {
    const refused = { refused: { code: 'DELIVERY_TOO_LARGE', message: 'too large' } };
    const { ignored, sent, logger } = bench('supervisor', refused);
    ignored.note(record(7), unreadable);
    await settled();
    expect(sent.map(({ value }) => 'original' in value)).toEqual([true, false]);
    expect(ignored.firstUnsent).toBe(Number.POSITIVE_INFINITY);
    expect(logger.lines.map(({ message }) => message)).toEqual(['dead letter refused']);
  });
});

test('of a flood of foreign records only the first get letters, and all are counted', async () => {
  const { ignored, sent, logger } = bench();
  const foreign = { code: foreignCode, message: 'foreign' };
  for (let offset = 0; offset < 3 * limits.ignoredLettersMax; offset++) {
    ignored.note(record(offset), foreign);
    await settled();
  }
  expect(sent).toHaveLength(limits.ignoredLettersMax);
  expect(ignored.count).toBe(3 * limits.ignoredLettersMax);
  expect(logger.lines).toHaveLength(1);
  ignored.note(record(9_999), unreadable);
  await settled();
  expect(sent).toHaveLength(limits.ignoredLettersMax + 1);
});
