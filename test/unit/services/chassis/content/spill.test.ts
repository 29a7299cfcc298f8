import { describe, expect, test } from 'vitest';
import { json, text } from '../../../../../schemas/event.ts';
import { createMemoryBlobs } from '../../../../../services/chassis/content/blobs.ts';
import {
  blobsOf,
  fillContents,
  hasBlobs,
  hasLargeContent,
  spillContents,
} from '../../../../../services/chassis/content/spill.ts';
import { canonical } from '../../../../../services/chassis/protocol/hash.ts';
import type { RecordBody } from '../../../../../services/chassis/protocol/record.ts';
import { recordHash, saltOf, sealContent } from '../../../../../services/chassis/protocol/seal.ts';
import { recordFacts } from '../../../../../services/chassis/protocol/turn.ts';
import { checkpointBody, completed, skipped } from '../../../../support/placed-record.ts';
import { epochBody, inputBody, turnBody } from '../../../../support/written-session.ts';

const limit = 50;
const big = 'x'.repeat(60);
const withResult = (body: string) => ({
  ...completed('c', 'x#0'),
  content: { result: text(body) },
});
const facts = recordFacts('ses_one', {
  nowMs: 1,
  delivered: [],
  lost: {},
  service: {},
  attachments: { list: [big] },
});

const bodies: readonly (readonly [string, RecordBody, number])[] = [
  [
    'a turn with its events and facts',
    turnBody('s', [withResult(big), skipped('a')], { facts }),
    2,
  ],
  ['an input', inputBody('s', withResult(big)), 1],
  ['a checkpoint', checkpointBody({ state: sealContent(saltOf('s'), json({ a: big })) }), 1],
  ['an epoch', epochBody(), 0],
  ['a turn without contents', turnBody('s', [skipped('a')]), 0],
  ['an input whose content is small', inputBody('s', withResult('small')), 0],
];

describe.each(bodies)('%s', (_name, body, blobs) => {
  test('gives its large contents to blobs and gets them back; the digests stay', async () => {
    const store = createMemoryBlobs();
    expect(hasLargeContent(body, limit)).toBe(blobs > 0);
    const spilled = await spillContents(body, store, limit);
    expect(store.entries().size).toBe(blobs);
    expect(blobsOf(spilled)).toHaveLength(blobs);
    expect(hasBlobs(spilled)).toBe(blobs > 0);
    expect(JSON.stringify(spilled)).not.toContain(big);
    expect(recordHash(spilled)).toBe(recordHash(body));
    const filled = await fillContents(spilled, store);
    expect(hasBlobs(filled)).toBe(false);
    expect(recordHash(filled)).toBe(recordHash(body));
    const again = await spillContents(filled, store, limit);
    expect(canonical(again)).toBe(canonical(spilled));
  });
});

test('a blob is named by the digest of its content and holds the canonical text', async () => {
  const store = createMemoryBlobs();
  const state = sealContent(saltOf('s'), json({ b: big, a: 1 }));
  await spillContents(checkpointBody({ state }), store, limit);
  expect([...store.entries()]).toEqual([[state.digest, `{"a":1,"b":"${big}"}`]]);
});

test('a content exactly at the limit stays', async () => {
  const body = inputBody('s', withResult('x'.repeat(limit - 2)));
  expect(hasLargeContent(body, limit)).toBe(false);
  expect(await spillContents(body, createMemoryBlobs(), limit)).toEqual(body);
});

test('a blob that is missing says so', async () => {
  const spilled = await spillContents(inputBody('s', withResult(big)), createMemoryBlobs(), limit);
  await expect(fillContents(spilled, createMemoryBlobs())).rejects.toMatchObject({
    code: 'BLOB_MISSING',
  });
});
