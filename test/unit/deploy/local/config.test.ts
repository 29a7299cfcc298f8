import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jvmEnvironment, packageRoot, readSettings } from '../../../../deploy/local/config.ts';

describe('readSettings', () => {
  it('keeps state in the package at hand and downloads in the home directory', () => {
    const dir = mkdtempSync(join(tmpdir(), 'longrein-'));
    writeFileSync(join(dir, 'package.json'), '{}');
    const settings = readSettings({ HOME: '/home/ada' }, join(dir, 'deep', 'er'));
    expect(settings.stateDir).toBe(join(dir, '.longrein'));
    expect(settings.cacheDir).toBe('/home/ada/.cache/longrein');
  });

  it('takes directories and addresses from the environment', () => {
    const settings = readSettings(
      {
        LONGREIN_STATE_DIR: 'state',
        XDG_CACHE_HOME: '/caches',
        LONGREIN_BROKERS: 'a:9092, b:9092',
        LONGREIN_REGISTRY_URL: 'http://r/apis/ccompat/v7/',
      },
      '/home/ada',
    );
    expect(settings.stateDir).toBe('/home/ada/state');
    expect(settings.cacheDir).toBe('/caches/longrein');
    expect(settings.brokers).toEqual(['a:9092', 'b:9092']);
    expect(settings.registryUrl).toBe('http://r/apis/ccompat/v7');
  });

  it('counts empty variables as not set', () => {
    const settings = readSettings({ LONGREIN_BROKERS: ' , ', LONGREIN_CLICKHOUSE_URL: '' }, '/');
    expect(settings.brokers).toBeUndefined();
    expect(settings.clickhouseUrl).toBeUndefined();
  });
});

describe('jvmEnvironment', () => {
  it('hands no keys of the user to broker and registry', () => {
    const kept = jvmEnvironment({
      PATH: '/bin',
      ANTHROPIC_API_KEY: 'secret',
      QUARKUS_PROFILE: 'x',
    });
    expect(kept).toEqual({ PATH: '/bin' });
  });
});

describe('packageRoot', () => {
  it('is the directory with the package.json of Longrein', () => {
    expect(join(packageRoot(), 'test', 'unit', 'deploy', 'local')).toBe(import.meta.dirname);
  });
});
