import { describe, expect, test } from 'vitest';
import { text } from '../../../../../schemas/event.ts';
import { createMemoryBlobs } from '../../../../../services/chassis/content/blobs.ts';
import { spillContents } from '../../../../../services/chassis/content/spill.ts';
import { readBodyPatiently } from '../../../../../services/chassis/host/read-body.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../../../services/chassis/log/port.ts';
import type { RecordBody } from '../../../../../services/chassis/protocol/record.ts';
import { checkpointBody, completed, skipped } from '../../../../support/placed-record.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';
import { settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';
import { epochBody, inputBody, turnBody } from '../../../../support/written-session.ts';

const codec = createFixedCodec();

function bench() {
  const clock = new VirtualClock();
  const logger = keepingLogger();
  const blobs = createMemoryBlobs();
  return { clock, logger, blobs, ports: { codec, blobs, logger, clock } };
}

const recordOf = (value: Uint8Array | null, kind = 'input'): LogRecord => ({
  topic: 'longrein.sessions.normal',
  partition: 0,
  offset: 7,
  key: 'ses_one',
  headers: { lr_kind: kind },
  value,
  timestampMs: 0,
});

const large = inputBody('ses_one', {
  ...completed('c', 'x#0'),
  content: { result: text('x'.repeat(100)) },
});

describe('a body', () => {
  test('comes back with its blobs', async () => {
    const { ports, blobs } = bench();
    const spilled = await spillContents(large, blobs, 10);
    const record = recordOf(codec.encode('input', spilled));
    const read = (await readBodyPatiently(record, ports)) as typeof large;
    expect(read.event.content?.['result']?.body).toBe('x'.repeat(100));
  });

  test('whose blob is away is waited for, with a word each time', async () => {
    const { ports, blobs, clock, logger } = bench();
    const elsewhere = createMemoryBlobs();
    const spilled = await spillContents(large, elsewhere, 10);
    let read: RecordBody | undefined;
    const record = recordOf(codec.encode('input', spilled));
    const waiting = readBodyPatiently(record, ports).then((body) => {
      read = body;
    });
    await settled();
    await clock.run(1_000);
    expect(read).toBeUndefined();
    expect(logger.lines.length).toBeGreaterThan(2);
    expect(logger.lines.every(({ level }) => level === 'warn')).toBe(true);
    for (const [digest, bytes] of elsewhere.entries()) await blobs.put(digest, bytes);
    await clock.run(10_000);
    await waiting;
    expect(read?.kind).toBe('input');
  });
});

describe("bytes that cannot be read are nobody's", () => {
  const wrong: readonly (readonly [string, Uint8Array | null, string])[] = [
    ['no value', null, 'input'],
    ['no frame', Buffer.from('{}'), 'input'],
    ['no JSON', Buffer.from([0, 0, 0, 0, 1, 123]), 'input'],
    ['no object', codec.encode('input', []), 'input'],
    ['another kind than the headers say', codec.encode('turn', turnBody('s', [])), 'input'],
    ['a turn without events', codec.encode('turn', { kind: 'turn' }), 'turn'],
    ['a turn with strange events', codec.encode('turn', { kind: 'turn', events: [1] }), 'turn'],
    ['an input without an event', codec.encode('input', { kind: 'input' }), 'input'],
    [
      'a checkpoint without a state',
      codec.encode('checkpoint', { kind: 'checkpoint' }),
      'checkpoint',
    ],
  ];

  test.each(wrong)('%s', async (_what, value, kind) => {
    const { ports, logger } = bench();
    expect(await readBodyPatiently(recordOf(value, kind), ports)).toBeUndefined();
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines[0]).toMatchObject({ level: 'error', fields: { offset: 7 } });
  });

  test('what is whole is read, of every kind', async () => {
    const { ports } = bench();
    const whole = [turnBody('s', [skipped('a')]), checkpointBody(), epochBody(), large];
    for (const body of whole) {
      const record = recordOf(codec.encode(body.kind, body), body.kind);
      expect(await readBodyPatiently(record, ports)).toEqual(body);
    }
  });
});
