import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readExport } from '../../../../replay-tools/read/file.ts';
import { isPlaced } from '../../../../replay-tools/read/session.ts';
import { isToldBy } from '../../../../replay-tools/verify/headers.ts';
import { packageRoot } from '../../../../services/chassis/config/package-root.ts';
import {
  headersOf,
  type PlacedRecord,
  parseHeader,
  type RecordHeader,
} from '../../../../services/chassis/protocol/record.ts';
import { recordsOf } from '../../../support/world-session.ts';

/** What the body shows of the headers must be what the headers would say, written out and read again. */

async function someRecords(): Promise<readonly PlacedRecord[]> {
  const all: PlacedRecord[] = [];
  for (const name of ['model-loop', 'restarts', 'cancelled']) {
    const source = await readExport(join(packageRoot, `test/replay/${name}.jsonl`));
    for (const record of await recordsOf(source)) if (isPlaced(record)) all.push(record);
  }
  return all;
}

const another = (value: unknown): readonly unknown[] => {
  if (typeof value === 'number') return [value + 1, -1, value + 0.5, Number.NaN];
  if (Array.isArray(value)) return [[...value, 'x'], value.slice(1), value.map(() => 'a,b'), ['']];
  return [`${String(value)}x`, ''];
};

/** What nothing in the body says: it is taken from the headers, as it was sent. */
const sent: readonly string[] = ['id', 'batch', 'batchIndex', 'sequence', 'traceparent', 'codec'];

test('records that were written as their bodies say are known by their bodies, each kind', async () => {
  const records = await someRecords();
  const told = records.filter(({ header, body }) => isToldBy(body, header));
  expect(new Set(told.map(({ header }) => header.kind))).toEqual(
    new Set(['turn', 'input', 'checkpoint']),
  );
  expect(told.length).toBe(records.filter(({ header }) => header.kind !== 'epoch').length);
  for (const { header, body } of told) {
    const read = parseHeader(headersOf(header.id, body, header));
    // A sequence number is given when a record is sent, and older releases named no fold.
    const { sequence, fold } = header;
    expect({ ...read, sequence, ...(fold === -1 ? { fold } : {}) }).toEqual(header);
  }
});

test('no other value of a member is taken for what the body says', async () => {
  let changes = 0;
  for (const { header, body } of await someRecords()) {
    for (const [name, value] of Object.entries(header)) {
      if (sent.includes(name)) continue;
      for (const other of another(value)) {
        const isSame = JSON.stringify(other) === JSON.stringify(value);
        // Older releases named no fold.
        if (isSame || (name === 'fold' && other === -1)) continue;
        const changed = { ...header, [name]: other } as RecordHeader;
        expect([name, other, isToldBy(body, changed)]).toEqual([name, other, false]);
        changes += 1;
      }
    }
  }
  expect(changes).toBeGreaterThan(1_000);
});

test('neither is a member more or less, nor a body of which a header cannot speak', async () => {
  const [record] = (await someRecords()).filter(({ header }) => header.kind === 'turn');
  if (record?.body.kind !== 'turn') throw new Error('no turn was recorded');
  const { header, body } = record;
  expect(isToldBy(body, { ...header, more: 1 } as unknown as RecordHeader)).toBe(false);
  const { traceparent: _gone, ...less } = header;
  expect(isToldBy(body, less as RecordHeader)).toBe(false);
  const odd = { ...body, foreseen: ['a,b'] };
  expect(isToldBy(odd, { ...header, foreseen: ['a,b'] })).toBe(false);
  const never = { ...body, atMs: 8.65e15 };
  expect(isToldBy(never, { ...header, atMs: 8.65e15 })).toBe(false);
});
