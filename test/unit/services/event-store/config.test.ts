import { expect, test } from 'vitest';
import { readEventStoreConfig } from '../../../../services/event-store/config.ts';

test('without variables the known address is used', () => {
  expect(readEventStoreConfig({}, { url: 'http://127.0.0.1:8123/' })).toEqual({
    url: 'http://127.0.0.1:8123',
    user: 'default',
    password: '',
    requestTimeoutMs: 30_000,
    replicated: false,
  });
});

test('variables win; an empty one is not set', () => {
  const environment = {
    LONGREIN_CLICKHOUSE_URL: 'https://db.example:8443',
    LONGREIN_CLICKHOUSE_USER: 'sink',
    LONGREIN_CLICKHOUSE_PASSWORD: 'p w',
    LONGREIN_CLICKHOUSE_TIMEOUT_MS: '',
  };
  expect(readEventStoreConfig(environment, { url: 'http://127.0.0.1:1' })).toMatchObject({
    url: 'https://db.example:8443',
    user: 'sink',
    password: 'p w',
    requestTimeoutMs: 30_000,
    replicated: false,
  });
});

test('who asks may stand in the address, which is kept without it; variables win', () => {
  const LONGREIN_CLICKHOUSE_URL = 'http://sink:p%20w@db.example:8123/';
  expect(readEventStoreConfig({ LONGREIN_CLICKHOUSE_URL })).toMatchObject({
    ...{ url: 'http://db.example:8123', user: 'sink', password: 'p w' },
  });
  const other = { LONGREIN_CLICKHOUSE_URL, LONGREIN_CLICKHOUSE_USER: 'other' };
  expect(readEventStoreConfig(other)).toMatchObject({ user: 'other', password: 'p w' });
});

test('a password in the address that is not encoded is said, and not shown', () => {
  const LONGREIN_CLICKHOUSE_URL = 'http://sink:100%secret@db.example:8123';
  expect(() => readEventStoreConfig({ LONGREIN_CLICKHOUSE_URL })).toThrow(
    expect.objectContaining({
      ...{ code: 'CONFIG_INVALID', message: expect.not.stringContaining('secret') },
    }),
  );
});

test('no address at all is refused with what to do', () => {
  expect(() => readEventStoreConfig({})).toThrow(
    expect.objectContaining({
      code: 'CONFIG_MISSING',
      fix: expect.stringContaining('LONGREIN_CLICKHOUSE_URL'),
    }),
  );
});

test.each([
  ['LONGREIN_CLICKHOUSE_URL', 'localhost:8123'],
  ['LONGREIN_CLICKHOUSE_TIMEOUT_MS', '5'],
])('%s with a wrong value is named', (name, value) => {
  expect(() => readEventStoreConfig({ [name]: value }, { url: 'http://127.0.0.1:1' })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(name) }),
  );
});
