import { describe, expect, test } from 'vitest';
import {
  readConfig,
  threadsSuffice,
  threadsWanted,
} from '../../../../../deploy/local/clickhouse/config.ts';

describe('configuration of the embedded engine', () => {
  test('a directory is enough; the port is a free one and no token is wanted', () => {
    expect(readConfig({ LONGREIN_CLICKHOUSE_DIR: '/data' })).toMatchObject({
      directory: '/data',
      port: 0,
      token: undefined,
      analystToken: undefined,
    });
  });

  test.each([
    [{}, 'LONGREIN_CLICKHOUSE_DIR'],
    [{ LONGREIN_CLICKHOUSE_DIR: '/data', LONGREIN_CLICKHOUSE_PORT: '70000' }, 'PORT'],
    [{ LONGREIN_CLICKHOUSE_DIR: '/data', LONGREIN_CLICKHOUSE_MEMORY_BYTES: '1' }, 'MEMORY_BYTES'],
  ])('what is wrong is named: %o', (environment, name) => {
    expect(() => readConfig(environment)).toThrow(name);
  });

  test('too few threads are noticed', () => {
    expect(threadsSuffice({})).toBe(false);
    expect(threadsSuffice({ UV_THREADPOOL_SIZE: '4' })).toBe(false);
    expect(threadsSuffice({ UV_THREADPOOL_SIZE: String(threadsWanted) })).toBe(true);
  });
});
