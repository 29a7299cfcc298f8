import { describe, expect, test } from 'vitest';
import { text } from '../../../../../schemas/event.ts';
import { limits } from '../../../../../schemas/limits.ts';
import type { BlobPort } from '../../../../../services/chassis/content/blobs.ts';
import { createMemoryBlobs } from '../../../../../services/chassis/content/blobs.ts';
import { type Batch, PartitionWriter } from '../../../../../services/chassis/host/writer.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import type { PlacedRecord, RecordBody } from '../../../../../services/chassis/protocol/record.ts';
import { cancel, completed, skipped } from '../../../../support/placed-record.ts';
import { keepingLogger, quietPorts } from '../../../../support/quiet-ports.ts';
import { type ScriptedAppend, ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';
import { epochBody, inputBody, turnBody } from '../../../../support/written-session.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };

function bench(blobs: BlobPort = createMemoryBlobs()) {
  const log = new ScriptedLog();
  const clock = new VirtualClock();
  const logger = keepingLogger();
  const placed: PlacedRecord[] = [];
  const writer = new PartitionWriter(at, quietPorts(log, clock, { blobs, logger }), {
    onAppended: (records) => placed.push(...records),
  });
  /** The append that waits for an answer, after all that can happen has happened. */
  const next = async (): Promise<ScriptedAppend> => {
    await settled();
    await clock.run(5_000);
    const last = log.appends.at(-1);
    if (last === undefined) throw new Error('nothing was sent');
    return last;
  };
  return { log, clock, logger, placed, writer, next };
}

const turn = (id: string, epoch = 1): Batch => ({
  records: [{ id, body: turnBody('ses_one', [skipped('a')], { epoch }), traceparent: '' }],
});
const outcome = (id: string, result: string): Batch => ({
  records: [
    {
      id,
      body: inputBody('ses_one', { ...completed('c', 'x#0'), content: { result: text(result) } }),
      traceparent: '',
    },
  ],
});
const input = (id: string): Batch => ({
  records: [{ id, body: inputBody('ses_one', cancel()), traceparent: '' }],
});
const idsOf = ({ records }: ScriptedAppend): string[] =>
  records.map((record) => record.headers['ce_id'] ?? '');
const numbersOf = ({ records }: ScriptedAppend): (string | undefined)[] =>
  records.map((record) => record.headers['lr_sequence']);

/** As the broker counts, about. */
const bytesOf = ({ records }: ScriptedAppend): number =>
  records.reduce((sum, { key, headers, value }) => {
    const heads = Object.entries(headers).map(([name, one]) => name.length + one.length + 2);
    const own = key.length + (value?.length ?? 0) + 8;
    return sum + own + heads.reduce((all, one) => all + one, 0);
  }, 61);

describe('requests', () => {
  test('go one at a time; what came meanwhile goes in one request, in order', async () => {
    const { writer, log, next } = bench();
    writer.push(turn('t1'));
    const first = await next();
    writer.push(turn('t2'));
    writer.push(input('i1'));
    writer.push(turn('t3'));
    await next();
    expect(log.appends).toHaveLength(1);
    first.acknowledge(0);
    expect(idsOf(await next())).toEqual(['t2', 'i1', 't3']);
    expect(log.appends).toHaveLength(2);
  });

  test('are sent again with the same bytes until acknowledged, whatever was learned', async () => {
    const { writer, log, next } = bench();
    let lost = false;
    writer.push({ ...turn('t1'), stale: () => lost });
    const first = await next();
    const bytes = JSON.stringify(first.records);
    lost = true;
    first.fail('uncertain');
    writer.push(turn('t2'));
    const second = await next();
    expect(JSON.stringify(second.records)).toBe(bytes);
    second.fail('uncertain');
    const third = await next();
    expect(JSON.stringify(third.records)).toBe(bytes);
    third.acknowledge(0);
    expect(idsOf(await next())).toEqual(['t2']);
    expect(log.appends).toHaveLength(4);
  });

  test('wait longer each time, and say so', async () => {
    const { writer, log, clock, logger } = bench();
    writer.push(turn('t1'));
    for (const waitMs of [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]) {
      await settled();
      log.appends.at(-1)?.fail('uncertain');
      await settled();
      const count = log.appends.length;
      await clock.run(waitMs - 1);
      expect(log.appends).toHaveLength(count);
      await clock.run(1);
      expect(log.appends).toHaveLength(count + 1);
    }
    expect(logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(8);
  });

  test('hold at most so many records, and never cut a batch', async () => {
    const { writer, next } = bench();
    writer.push(input('first'));
    const first = await next();
    const batch = (name: string): Batch => ({
      records: [0, 1, 2].flatMap((n) => input(`${name}.${n}`).records),
    });
    for (let i = 0; i < 200; i++) writer.push(batch(`b${i}`));
    first.acknowledge(0);
    const second = await next();
    expect(second.records.length).toBeGreaterThanOrEqual(limits.requestRecordsMax);
    expect(second.records.length % 3).toBe(0);
    second.acknowledge(1);
    const third = await next();
    expect(second.records.length + third.records.length).toBe(600);
  });

  test('stay within the bytes that the broker takes, headers counted', async () => {
    const { writer, log, next } = bench();
    writer.push(input('first'));
    (await next()).acknowledge(0);
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const sizes = [1_000, 1_100, 1_200, 1_300, 1_400, 1_500];
    for (const bytes of sizes) {
      for (let i = 0; i < limits.requestRecordsMax; i++) {
        const { records } = outcome(`inp_${i}`, 'x'.repeat(bytes));
        writer.push({ records: records.map((one) => ({ ...one, traceparent })) });
      }
    }
    const records = sizes.length * limits.requestRecordsMax;
    for (let sent = 1; sent <= records; ) {
      const request = await next();
      expect(bytesOf(request)).toBeLessThanOrEqual(limits.recordBytesMax);
      request.acknowledge(sent);
      sent += request.records.length;
    }
    expect(log.appends.length).toBeLessThan(12);
  });

  test('of one batch that is over the limit alone hold that batch alone', async () => {
    const { writer, next } = bench();
    writer.push(input('first'));
    const first = await next();
    const big = Array.from({ length: 40 }, (_, n) => outcome(`big.${n}`, 'x'.repeat(30_000)));
    writer.push(input('small'));
    writer.push({ records: big.flatMap(({ records }) => records) });
    writer.push(input('last'));
    first.acknowledge(0);
    const second = await next();
    expect(idsOf(second)).toEqual(['small']);
    second.acknowledge(1);
    const third = await next();
    expect(third.records).toHaveLength(40);
    third.acknowledge(2);
    expect(idsOf(await next())).toEqual(['last']);
  });
});

describe('numbers', () => {
  test('are counted for each service and epoch, for turns and checkpoints alone', async () => {
    const { writer, next } = bench();
    const other = turnBody('ses_one', [skipped('a')], { service: 'planner' });
    writer.push({
      records: [
        ...turn('t1').records,
        { id: 'p1', body: other, traceparent: '' },
        ...input('i1').records,
        { id: 'e1', body: epochBody(), traceparent: '' },
        ...turn('t2').records,
        ...turn('t3', 2).records,
      ],
    });
    expect(numbersOf(await next())).toEqual(['1', '1', undefined, undefined, '2', '1']);
  });

  test('are given when a record is first sent: what was dropped before took none', async () => {
    const { writer, next } = bench();
    writer.push(turn('t1'));
    const first = await next();
    let dropped = 0;
    writer.push({ ...turn('t2'), stale: () => true, onDropped: () => dropped++ });
    writer.push(turn('t3'));
    first.acknowledge(0);
    const second = await next();
    expect(idsOf(second)).toEqual(['t3']);
    expect(numbersOf(second)).toEqual(['2']);
    expect(dropped).toBe(1);
  });

  test('of a refused request are not given again', async () => {
    const { writer, next, logger } = bench();
    const errors: string[] = [];
    const onRefused = (error: Error): void => void errors.push(error.message);
    writer.push({ ...turn('t1'), onRefused });
    (await next()).fail('refused');
    writer.push(turn('t2'));
    expect(numbersOf(await next())).toEqual(['2']);
    expect(errors).toEqual(['scripted: refused']);
    expect(logger.lines.at(-1)?.message).toBe('append refused');
  });
});

describe('a refused request', () => {
  test('is sent again piece by piece: only what the broker refuses alone is refused', async () => {
    const { writer, next } = bench();
    const refused: string[] = [];
    const noting = (batch: Batch): Batch => {
      const id = batch.records[0]?.id ?? '';
      return { ...batch, onRefused: () => void refused.push(id) };
    };
    writer.push(input('first'));
    const first = await next();
    for (const batch of [input('good'), input('bad'), turn('t1'), input('last')]) {
      writer.push(noting(batch));
    }
    first.acknowledge(0);
    (await next()).fail('refused');
    const good = await next();
    expect(refused).toEqual(['t1']);
    expect(idsOf(good)).toEqual(['good']);
    good.acknowledge(1);
    const bad = await next();
    expect(idsOf(bad)).toEqual(['bad']);
    bad.fail('refused');
    expect(idsOf(await next())).toEqual(['last']);
    expect(refused).toEqual(['t1', 'bad']);
  });
});

describe('what was appended', () => {
  test('is told to each batch with its offset, and past the reader with header and body', async () => {
    const { writer, next, placed } = bench();
    const offsets: number[] = [];
    const onAppended = (offset: number): void => void offsets.push(offset);
    writer.push({ ...turn('t1'), onAppended });
    (await next()).acknowledge(7);
    writer.push({ records: [...turn('t2').records, ...input('i1').records], onAppended });
    writer.push({ ...turn('t3'), onAppended });
    (await next()).acknowledge(20);
    await next();
    expect(offsets).toEqual([7, 20, 22]);
    expect(placed.map(({ offset, header }) => [offset, header.id, header.sequence])).toEqual([
      [7, 't1', 1],
      [20, 't2', 2],
      [21, 'i1', -1],
      [22, 't3', 3],
    ]);
    expect(placed[2]?.header).toMatchObject({ batch: 't2', batchIndex: 1 });
  });

  test('goes past the reader only where all of a request are records of a session', async () => {
    const { writer, next, placed } = bench();
    const offsets: number[] = [];
    writer.push(input('i1'));
    const first = await next();
    const record = { key: 'k', headers: {}, value: null };
    writer.pushPlain({ record, onAppended: (offset) => offsets.push(offset) });
    writer.push({ ...input('i2'), onAppended: (offset) => offsets.push(offset) });
    first.acknowledge(0);
    (await next()).acknowledge(1);
    await next();
    expect(offsets).toEqual([1, 2]);
    expect(placed.map(({ header }) => header.id)).toEqual(['i1']);
  });
});

describe('large contents', () => {
  const large = 'x'.repeat(limits.contentInlineBytesMax + 1);
  const bodyIn = ({ records }: ScriptedAppend, index: number): RecordBody =>
    createFixedCodec().decode(records[index]?.value ?? new Uint8Array()).body as RecordBody;

  test('go to blobs first; batches keep their order while one waits for its own', async () => {
    const memory = createMemoryBlobs();
    const waiting: (() => void)[] = [];
    const slow: BlobPort = {
      get: memory.get,
      put: (digest, body) =>
        new Promise((resolve) => {
          waiting.push(() => resolve(memory.put(digest, body)));
        }),
    };
    const { writer, log, next } = bench(slow);
    writer.push(outcome('large', large));
    writer.push(turn('t1'));
    await settled();
    expect(log.appends).toEqual([]);
    for (const write of waiting) write();
    const first = await next();
    expect(idsOf(first)).toEqual(['large', 't1']);
    const sent = bodyIn(first, 0);
    expect(JSON.stringify(sent)).not.toContain('xxx');
    expect([...memory.entries().values()]).toEqual([JSON.stringify(large)]);
  });

  test('wait for a blob store that is away: nothing is lost, nothing overtakes', async () => {
    const memory = createMemoryBlobs();
    let tries = 0;
    const away: BlobPort = {
      get: memory.get,
      put: async (digest, body) => {
        tries += 1;
        if (tries < 3) throw new Error('no space left on device');
        await memory.put(digest, body);
      },
    };
    const { writer, log, logger, next } = bench(away);
    writer.push(outcome('large', large));
    writer.push(turn('t1'));
    const first = await next();
    expect(idsOf(first)).toEqual(['large', 't1']);
    expect(log.appends).toHaveLength(1);
    expect(logger.lines.map(({ level }) => level)).toEqual(['warn', 'warn']);
  });

  test('also go to blobs when many small ones would make a record too large', async () => {
    const { writer, next, placed } = bench();
    const drafts = Array.from({ length: 60 }, (_, n) => ({
      ...completed(`c${n}`, 'x#0'),
      content: { result: text(`${n} ${'y'.repeat(30_000)}`) },
    }));
    const body = turnBody('ses_one', drafts);
    writer.push({ records: [{ id: 'wide', body, traceparent: '' }] });
    const request = await next();
    expect(bytesOf(request)).toBeLessThan(limits.turnBytesMax);
    const sent = bodyIn(request, 0);
    expect(sent.kind === 'turn' && sent.events[7]?.content?.['result']?.blob).toMatch(
      /^[0-9a-f]+$/,
    );
    request.acknowledge(0);
    await next();
    expect(placed[0]?.body).toEqual(body);
  });
});

test('a closed writer sends nothing more and stops asking again', async () => {
  const { writer, log, next } = bench();
  writer.push(turn('t1'));
  const first = await next();
  writer.push(turn('t2'));
  writer.close();
  first.fail('uncertain');
  await next();
  expect(log.appends).toHaveLength(1);
  expect(writer.busy).toBe(false);
});
