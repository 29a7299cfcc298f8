import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

/** Addresses of a broker, a registry and a ClickHouse, and where hosts on them keep blobs. */
export type LiveStack = Readonly<{
  brokers: readonly string[];
  registryUrl: string;
  clickhouseUrl: string;
  /** All hosts of one log must share it: what one wrote the others read. */
  blobDir: string;
}>;

const given = (name: string): string => {
  const value = process.env[name]?.trim();
  if (value !== undefined && value !== '') return value;
  throw new Error(`${name} is not set: run \`npm test\`, which starts a stack and sets it`);
};

/** The stack that `npm test` started. */
export function stackUnderTest(): LiveStack {
  const brokers = given('LONGREIN_TEST_BROKERS').split(',');
  const name = `longrein-test-blobs-${brokers.join('-').replaceAll(/[^0-9]+/g, '-')}`;
  const blobDir = process.env['LONGREIN_TEST_BLOB_DIR'] ?? join(tmpdir(), name);
  return {
    brokers,
    registryUrl: given('LONGREIN_TEST_REGISTRY_URL'),
    clickhouseUrl: given('LONGREIN_TEST_CLICKHOUSE_URL'),
    blobDir,
  };
}

export const fixture = (path: string): string => join(packageRoot, 'test/fixtures', path);
export const examples: string = join(packageRoot, 'deploy/examples');
