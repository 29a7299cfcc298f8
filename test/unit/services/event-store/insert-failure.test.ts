import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { insertFailure } from '../../../../services/event-store/insert-failure.ts';
import { eventRow } from '../../../support/event-rows.ts';

const rows = [eventRow({ offset: 1 }), eventRow({ offset: 2 })];

function answered(code: string, type: string, message = 'what it said'): ClickHouseError {
  return new ClickHouseError({ code, type, message });
}

describe('what a failed insert means', () => {
  test('a lost connection may be tried again', () => {
    const lost = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    expect(insertFailure(lost, rows)).toMatchObject({
      code: 'EVENT_STORE_UNREACHABLE',
      retryable: true,
    });
  });

  test.each(['159', '202', '241', '242', '252', '319'])('code %s may be tried again', (code) => {
    expect(insertFailure(answered(code, 'SOMETHING'), rows)).toMatchObject({
      code: 'EVENT_STORE_BUSY',
      retryable: true,
    });
  });

  test('a value that cannot be read names its row and column and does not quote it', () => {
    const text = `expected '"' before: 'secret' (while reading the value of key labels): (at row 2)`;
    const failure = insertFailure(answered('27', 'CANNOT_PARSE', text), rows);
    expect(failure).toMatchObject({ code: 'EVENT_ROW_INVALID', retryable: false });
    expect(failure.message).toContain('longrein.sessions.normal/3@2#0');
    expect(failure.message).toContain('labels');
    expect(JSON.stringify([failure.message, failure.cause ?? null])).not.toContain('secret');
  });

  test('a missing table asks for the migration', () => {
    const failure = insertFailure(answered('60', 'UNKNOWN_TABLE'), rows);
    expect(failure).toMatchObject({ code: 'EVENT_STORE_REFUSED', retryable: false });
    expect(failure.fix).toContain('Migrate');
  });

  test('a wrong password is not tried again', () => {
    expect(insertFailure(answered('516', 'AUTHENTICATION_FAILED'), rows)).toMatchObject({
      code: 'EVENT_STORE_REFUSED',
      retryable: false,
    });
  });
});
