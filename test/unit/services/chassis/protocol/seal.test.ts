import { describe, expect, test } from 'vitest';
import { json, text } from '../../../../../schemas/event.ts';
import { sha256 } from '../../../../../services/chassis/protocol/hash.ts';
import {
  recordHash,
  saltOf,
  sealContent,
  sealContents,
  sealEvent,
} from '../../../../../services/chassis/protocol/seal.ts';
import { completed, skipped } from '../../../../support/placed-record.ts';

const salt = saltOf('ses_one');

describe('a sealed content', () => {
  test('has a digest over the salt of its session and the canonical text', () => {
    expect(sealContent(salt, json({ b: 1, a: [true] }))).toEqual({
      digest: sha256(`${salt}{"a":[true],"b":1}`),
      mediaType: 'application/json',
      bytes: 18,
      body: { a: [true], b: 1 },
    });
  });

  test('of the same words has other digests in other sessions', () => {
    const other = sealContent(saltOf('ses_two'), text('yes'));
    expect(other.digest).not.toBe(sealContent(salt, text('yes')).digest);
  });

  test('has its members in one order, whoever wrote them', () => {
    const sealed = sealContent(salt, json({ b: { d: 1, c: 2 }, a: 0 }));
    expect(JSON.stringify(sealed.body)).toBe('{"a":0,"b":{"c":2,"d":1}}');
  });

  test('counts bytes of UTF-8, quotes of text included', () => {
    expect(sealContent(salt, text('é€😀')).bytes).toBe(2 + 2 + 3 + 4);
  });

  test('is what its text says: members that are undefined are gone', () => {
    const body = { a: undefined, b: 1 } as unknown as { b: number };
    expect(Object.keys(sealContent(salt, json(body)).body as object)).toEqual(['b']);
  });
});

test('contents that are not there are left out', () => {
  expect(Object.keys(sealContents(salt, { a: text('x'), b: undefined }))).toEqual(['a']);
});

test('an event without contents has none', () => {
  expect(sealEvent(salt, skipped('a'))).toEqual({
    type: 'task.skipped',
    version: 1,
    data: { task: 'a', because: 'upstream-failed' },
  });
  expect(Object.keys(sealEvent(salt, completed('c', 'x#0')).content ?? {})).toEqual(['result']);
});

describe('the hash of a record', () => {
  test('sees a content by digest and media type alone', () => {
    const content = sealContent(salt, text('hello'));
    const { body: _body, ...rest } = content;
    const hash = recordHash({ events: [{ content: { goal: content } }] });
    expect(recordHash({ events: [{ content: { goal: { ...rest, blob: 'x' } } }] })).toBe(hash);
    const typed = { ...content, mediaType: 'text/html' };
    expect(recordHash({ events: [{ content: { goal: typed } }] })).not.toBe(hash);
  });

  test('does not depend on the order of members, but on that of lists', () => {
    expect(recordHash({ a: 1, b: [1, 2] })).toBe(recordHash({ b: [1, 2], a: 1 }));
    expect(recordHash({ b: [1, 2] })).not.toBe(recordHash({ b: [2, 1] }));
  });
});
