import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { exportToFile } from '../../../../replay-tools/export/export.ts';
import { formatLine } from '../../../../replay-tools/export/format.ts';
import { parseExport, readExport } from '../../../../replay-tools/read/file.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import { LongreinError, toError } from '../../../../services/chassis/errors.ts';
import { seededNumbers } from '../../../support/quiet-ports.ts';
import { recordWorld } from '../../../support/recorded-world.ts';
import { exportFromWorld, recordsOf } from '../../../support/world-session.ts';

let text: string;

beforeAll(async () => {
  const { world, goals } = await recordWorld({ hosts: [['all'], ['all']] });
  text = await exportFromWorld(world, goals.asked.session);
});

const read = (changed: string) => parseExport([changed], 'session.jsonl');

async function problemOf(changed: string): Promise<LongreinError> {
  try {
    await read(changed);
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof LongreinError) return error;
    throw error;
  }
  throw new Error('the changed export was read');
}

test('an export holds all that verify needs, each large content once', async () => {
  const source = await read(text);
  expect(await verifySession(source)).toMatchObject({ identical: true, complete: true });
  const items = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).item as object);
  const contents = items.flatMap((item) => ('content' in item ? [item.content] : []));
  expect(contents.length).toBeGreaterThan(2);
  expect(new Set(contents).size).toBe(contents.length);
  expect(text.split('x'.repeat(50_000)).length).toBeLessThan(5);
});

test('of other sessions it holds what acceptance needs, and no body', async () => {
  const records = await recordsOf(await read(text));
  const others = records.filter(({ header }) => header.session === '');
  expect(others.length).toBeGreaterThan(10);
  expect(others.every(({ body }) => body === undefined)).toBe(true);
  expect(text).not.toContain('Wait for ever.');
});

test('a changed byte is found, wherever it is, and placed', async () => {
  const next = seededNumbers(11);
  for (let round = 0; round < 200; round++) {
    const at = Math.floor(next() * text.length);
    const changed = `${text.slice(0, at)}${text[at] === '0' ? '1' : '0'}${text.slice(at + 1)}`;
    const { code, message } = await problemOf(changed);
    const line = text.slice(0, at).split('\n').length;
    if (code === 'EXPORT_CORRUPT') expect(message).toContain(`session.jsonl, line ${line}:`);
    else expect(line).toBe(1);
  }
});

test('the place says which record or which content it is', async () => {
  const [first] = (await recordsOf(await read(text))).filter(({ body }) => body?.kind === 'turn');
  const record = await problemOf(
    text.replace('"plan.proposed","version":1', '"plan.proposed","version":2'),
  );
  expect(record.message).toContain(`record ${first?.header.id} at offset ${first?.offset}`);
  const content = await problemOf(text.replace('xxxx', 'xxxy'));
  const line = text
    .split('\n')
    .find((one) => one.includes('"item":{"content"') && one.includes('xxxx'));
  const digest = /"content":"([0-9a-f]{64})"/.exec(line ?? '')?.[1];
  expect(content.message).toContain(`content ${digest} is not as it was written`);
});

test('a missing line, a line too many, two lines exchanged and a missing end are found', async () => {
  const lines = text.split('\n');
  const [head, second, third, ...rest] = lines;
  const broken = [
    [head, third, ...rest],
    [head, second, second, third, ...rest],
    [head, third, second, ...rest],
    lines.slice(0, -4),
    [...lines.slice(0, -1), second, ''],
  ];
  for (const one of broken)
    expect(await problemOf(one.join('\n'))).toMatchObject({ code: 'EXPORT_CORRUPT' });
});

test('a body that was exchanged by somebody who knows the form is found by its digest', async () => {
  let previous = '';
  const lines = text.trimEnd().split('\n').slice(0, -1);
  const forged = lines.map((line) => {
    const changed = line.replace('xxxx', 'xxxy');
    const formed = formatLine(previous, JSON.parse(changed).item);
    previous = formed.sum;
    return formed.line;
  });
  const { createHash } = await import('node:crypto');
  const sha256 = createHash('sha256').update(forged.join('')).digest('hex');
  const end = formatLine(previous, { end: { lines: forged.length + 1, sha256 } }).line;
  const report = await verifySession(await read(forged.join('') + end));
  expect(report.identical).toBe(false);
  expect(report.differences[0]?.kind).toBe('content');
});

test('what is no export, and what a newer release wrote, are clear errors', async () => {
  expect(await problemOf('{"hello":"world"}\n')).toMatchObject({ code: 'EXPORT_UNREADABLE' });
  expect(await problemOf('')).toMatchObject({ code: 'EXPORT_UNREADABLE' });
  const newer = await problemOf(text.replace('"item":{"export":1', '"item":{"export":2'));
  expect(newer).toMatchObject({ code: 'EXPORT_NEWER' });
});

test('a file is written whole or not at all', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'longrein-export-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const source = await read(text);
  const path = join(directory, 'session.jsonl');
  const report = await exportToFile(source, path, { release: '0.0.0-world' });
  expect(readFileSync(path, 'utf8')).toBe(text);
  expect(report).toEqual({
    path,
    lines: text.trimEnd().split('\n').length,
    bytes: Buffer.byteLength(text),
  });
  expect(await verifySession(await readExport(path))).toMatchObject({ identical: true });
  const failing = {
    ...source,
    async *records() {
      yield* (await recordsOf(source)).slice(0, 3);
      throw new LongreinError('PARTITION_UNREADABLE', 'gone');
    },
  };
  const other = join(directory, 'other.jsonl');
  await expect(exportToFile(failing, other, { release: '' })).rejects.toMatchObject({
    code: 'PARTITION_UNREADABLE',
  });
  expect(readdirSync(directory)).toEqual(['session.jsonl']);
  const nowhere = join(directory, 'no', 'where.jsonl');
  await expect(exportToFile(source, nowhere, { release: '' })).rejects.toMatchObject({
    code: 'EXPORT_NOT_WRITTEN',
  });
  await expect(readExport(nowhere)).rejects.toMatchObject({ code: 'EXPORT_MISSING' });
  writeFileSync(other, text.slice(0, -1));
  expect(await readExport(other)).toMatchObject({ session: source.session });
});
