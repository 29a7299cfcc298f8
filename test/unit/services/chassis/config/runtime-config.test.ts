import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  readRuntimeConfig,
  stateDirOf,
} from '../../../../../services/chassis/config/runtime-config.ts';

const root = mkdtempSync(join(tmpdir(), 'longrein-config-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
/** A state directory, with the file that a local stack leaves there. */
function stateDir(stack?: string): string {
  const directory = join(root, String(++count));
  mkdirSync(directory);
  if (stack !== undefined) writeFileSync(join(directory, 'stack.json'), stack);
  return directory;
}

const given = {
  LONGREIN_BROKERS: 'one:9092, two:9092,',
  LONGREIN_REGISTRY_URL: 'http://registry:8081',
};

describe('what is set', () => {
  test('is taken; the rest has defaults', () => {
    const directory = stateDir();
    const config = readRuntimeConfig({ ...given, LONGREIN_STATE_DIR: directory });
    expect(config).toMatchObject({
      brokers: ['one:9092', 'two:9092'],
      registryUrl: 'http://registry:8081',
      clickhouseUrl: undefined,
      stateDir: directory,
      blobDir: join(directory, 'blobs'),
      partitions: 12,
      replication: 1,
      fsync: false,
      housekeepingMs: 5_000,
      logLevel: 'info',
      otlpEndpoint: undefined,
      model: undefined,
    });
    expect(config.catalogDirs.map((one) => one.endsWith('deploy/examples'))).toEqual([true]);
    expect(config.host).toMatch(/^host-\d+$/);
  });

  test('that is empty is not set', () => {
    const config = readRuntimeConfig({ ...given, LONGREIN_PARTITIONS: '', LONGREIN_HOST: '' });
    expect([config.partitions, config.host.startsWith('host-')]).toEqual([12, true]);
    expect(stateDirOf({ LONGREIN_STATE_DIR: '' })).toBe(stateDirOf({}));
  });

  test('in several directories is a list, each from where the process stands', () => {
    const { catalogDirs } = readRuntimeConfig({ ...given, LONGREIN_CATALOG: 'a, b/c' });
    expect(catalogDirs).toEqual([resolve('a'), resolve('b/c')]);
  });

  test('by a local stack without ClickHouse is a stack without ClickHouse', () => {
    const stack = {
      brokers: ['one:9092'],
      registryUrl: 'http://registry:8081',
      clickhouseUrl: null,
    };
    const directory = stateDir(JSON.stringify(stack));
    expect(readRuntimeConfig({ LONGREIN_STATE_DIR: directory })).toMatchObject({
      brokers: ['one:9092'],
      clickhouseUrl: undefined,
    });
  });

  test('of other programs is not looked at', () => {
    expect(() => readRuntimeConfig({ ...given, PATH: '/bin', LONGREIN_OTHER: 'x' })).not.toThrow();
  });
});

describe('the local stack', () => {
  const stack = JSON.stringify({
    brokers: ['local:1'],
    registryUrl: 'http://local:2',
    clickhouseUrl: 'http://local:3',
    more: true,
  });

  test('says where things are when nothing is set', () => {
    expect(readRuntimeConfig({ LONGREIN_STATE_DIR: stateDir(stack) })).toMatchObject({
      brokers: ['local:1'],
      registryUrl: 'http://local:2',
      clickhouseUrl: 'http://local:3',
    });
  });

  test('gives way to what is set', () => {
    const config = readRuntimeConfig({ ...given, LONGREIN_STATE_DIR: stateDir(stack) });
    expect([config.brokers[0], config.clickhouseUrl]).toEqual(['one:9092', 'http://local:3']);
  });

  test('whose file cannot be read says which file, and what to do', () => {
    const directory = stateDir('{"brokers": "x"');
    const read = (): unknown => readRuntimeConfig({ LONGREIN_STATE_DIR: directory });
    expect(read).toThrow(join(directory, 'stack.json'));
    expect(read).toThrow(expect.objectContaining({ code: 'STACK_FILE_INVALID' }));
    const wrong = stateDir('{"brokers": "x"}');
    expect(() => readRuntimeConfig({ LONGREIN_STATE_DIR: wrong })).toThrow(/stack\.json/);
  });
});

describe('an error names the variable', () => {
  test.each([
    ['LONGREIN_REGISTRY_URL', 'not a url'],
    ['LONGREIN_CLICKHOUSE_URL', 'x'],
    ['LONGREIN_PARTITIONS', '0'],
    ['LONGREIN_PARTITIONS', 'many'],
    ['LONGREIN_PARTITIONS', '1.5'],
    ['LONGREIN_REPLICATION', '10'],
    ['LONGREIN_SESSION_TIMEOUT_MS', '5999'],
    ['LONGREIN_HOUSEKEEPING_MS', '99'],
    ['LONGREIN_LOG_LEVEL', 'loud'],
    ['LONGREIN_MODEL', 'x'],
    ['LONGREIN_HOST', 'h'.repeat(101)],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'nowhere'],
  ])('%s = %s', (name, value) => {
    const read = (): unknown => readRuntimeConfig({ ...given, [name]: value });
    expect(read).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(read).toThrow(name);
  });

  test('several at once', () => {
    const wrong = { ...given, LONGREIN_PARTITIONS: '0', LONGREIN_LOG_LEVEL: 'loud' };
    expect(() => readRuntimeConfig(wrong)).toThrow(/LONGREIN_PARTITIONS.*; LONGREIN_LOG_LEVEL/);
  });

  test.each([
    ['LONGREIN_BROKERS', { LONGREIN_REGISTRY_URL: 'http://r:1' }],
    ['LONGREIN_REGISTRY_URL', { LONGREIN_BROKERS: 'a:1' }],
  ])('%s where nothing says it', (name, environment) => {
    const read = (): unknown =>
      readRuntimeConfig({ ...environment, LONGREIN_STATE_DIR: stateDir() });
    const fix: unknown = expect.stringContaining(name);
    expect(read).toThrow(expect.objectContaining({ code: 'CONFIG_MISSING', fix }));
  });
});
