import type { ClickHouseClient } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { recordHash } from '../../../../services/chassis/protocol/seal.ts';
import { bareContentText, bareRecordText } from '../../../../services/event-store/bare-text.ts';
import { canonicalText } from '../../../../services/event-store/canonical-text.ts';
import { eraseRows, rowsOfRecordsThere } from '../../../../services/event-store/erasure.ts';
import { completed } from '../../../support/placed-record.ts';
import { turnBody } from '../../../support/written-session.ts';

/** What leaves a row when its session is erased, and what stays. */

const content = { digest: 'd'.repeat(64), mediaType: 'text/plain', bytes: 6 };

describe('the column content', () => {
  test.each([
    ['an open body', { body: 'hidden' }],
    ['a sealed one', { sealed: 'hidden' }],
    ['a blob', { blob: 'hidden' }],
  ])('loses %s and keeps digest, media type and size', (_what, more) => {
    const text = canonicalText({ goal: { ...content, ...more } });
    const bare = bareContentText(text);
    expect(JSON.parse(bare)).toEqual({ goal: content });
    expect(bareContentText(bare)).toBe(bare);
  });

  test('loses what is no content of ours wholly', () => {
    expect(bareContentText('{"a":"hidden","b":[1]}')).toBe('{}');
    expect(bareContentText('')).toBe('{}');
  });
});

describe('the column record', () => {
  test('keeps the body of a record of ours, whose hash stays what it was', () => {
    const draft = {
      ...completed('c', 'x#0'),
      content: { result: { mediaType: 'text/plain', body: 'hidden' } },
    };
    const body = turnBody('ses_one', [draft]);
    const bare = bareRecordText(`{"body":${JSON.stringify(body)},"headers":{"b":"2"}}`);
    expect(bare).not.toContain('hidden');
    expect(recordHash(JSON.parse(bare).body)).toBe(recordHash(body));
    expect(bareRecordText(bare)).toBe(bare);
  });

  test('keeps of any other record its headers and key only', () => {
    const text = '{"body":{"goal":"hidden"},"headers":{"h":"1"},"key":"k"}';
    expect(bareRecordText(text)).toBe('{"headers":{"h":"1"},"key":"k"}');
    expect(bareRecordText('{"bytes":"aGlkZGVu","headers":{},"key":"k"}')).toBe(
      '{"headers":{},"key":"k"}',
    );
    expect(bareRecordText('')).toBe('');
  });
});

const row = (offset: number, text: string) => ({
  ...{ topic: "to'pic", partition: 1, offset: String(offset), index: 0 },
  content: canonicalText({ goal: { ...content, body: text } }),
  record: '',
});

/** A client that has these rows, and keeps what it is told. */
function fakeClient(rows: readonly object[], said: string[]): ClickHouseClient {
  const client = {
    async query() {
      return {
        async *stream() {
          yield rows.map((one) => ({ json: () => one }));
        },
        json: async () => [{ there: '0' }],
      };
    },
    async command({ query }: { query: string }) {
      said.push(query);
    },
  };
  return client as unknown as ClickHouseClient;
}

test('only rows that hold something are changed, their texts quoted, waited for', async () => {
  const said: string[] = [];
  const bare = { ...row(8, ''), content: canonicalText({ goal: content }) };
  const client = fakeClient([row(7, "it's \\ hidden"), bare], said);
  expect(await eraseRows(client, { sessions: ["s'1"], places: [] })).toBe(1);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain("'to\\'pic/1/7#0'");
  expect(said[0]).toContain('mutations_sync = 2');
  expect(said[0]).not.toContain('hidden');
  expect(said[0]).not.toContain('/8#0');
});

test('rows that are still on their way are waited for, and named when they do not come', async () => {
  let pauses = 0;
  const pause = async (): Promise<void> => {
    pauses += 1;
  };
  const place = { topic: 't', partition: 2, offset: 9 };
  const waiting = rowsOfRecordsThere(fakeClient([], []), [place], { withinMs: 1_000, pause });
  await expect(waiting).rejects.toMatchObject({ code: 'EVENT_STORE_BEHIND', retryable: true });
  expect(pauses).toBe(5);
});
