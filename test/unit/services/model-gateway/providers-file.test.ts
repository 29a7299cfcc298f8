import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toError } from '../../../../services/chassis/errors.ts';
import { readModelConfig } from '../../../../services/model-gateway/config.ts';
import { readProvidersFile } from '../../../../services/model-gateway/providers-file.ts';
import { createProviders } from '../../../../services/model-gateway/routes.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'longrein-providers-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function fileOf(text: string): string {
  const path = join(directory, 'providers.yaml');
  writeFileSync(path, text);
  return path;
}

const right = `providers:
  openai: { requestsPerMinute: 500 }
  local:
    baseUrl: http://127.0.0.1:8080/v1
    key: { file: KEY }
    concurrentMax: 2
tenants:
  "*": { tokensPerMinute: 1000, dayBudgetNanoUsd: 5000 }
`;

describe('the providers file', () => {
  it('says servers, limits and the budgets of a day', () => {
    const { servers, gate, dayBudgets } = readProvidersFile(fileOf(right));
    expect(servers.map(({ name, protocol }) => [name, protocol])).toEqual([
      ['openai', 'openai'],
      ['local', 'openai'],
    ]);
    expect(gate.providers['local']).toMatchObject({ concurrentMax: 2 });
    expect(gate.tenants['*']).toMatchObject({ tokensPerMinute: 1_000 });
    expect(dayBudgets).toEqual({ '*': { dayNanoUsd: 5_000, trancheNanoUsd: 100 } });
  });

  it.each([
    [
      'providers:\n  openai:\n    requestPerMinute: 5',
      /:3: providers\.openai\.requestPerMinute: .*"requestsPerMinute" is meant/,
    ],
    ['tenant: {}', /:1: tenant: .*"tenants" is meant/],
    [
      'providers:\n  openai:\n    key: sk-123',
      /:3: providers\.openai\.key: a key is named as \{env: VARIABLE\}/,
    ],
    ['providers:\n  Open AI: {}', /:2: providers\.Open AI: .*/],
    [
      'providers:\n  local:\n    baseUrl: nowhere',
      /:3: providers\.local\.baseUrl: must be an http/,
    ],
    [
      'providers:\n  local:\n    baseUrl: http://127.0.0.1:6000/v1',
      /:3: providers\.local\.baseUrl: port 6000 is one that no HTTP client may use/,
    ],
    ['providers: [', /providers\.yaml: /],
  ])('with a mistake is refused with its place: %j', (text, expected) => {
    const path = fileOf(text);
    expect(() => readProvidersFile(path)).toThrow(expected);
  });

  it('does not repeat a key that stands where its name should', () => {
    const path = fileOf('providers:\n  openai:\n    key: sk-123');
    let said = '';
    try {
      readProvidersFile(path);
    } catch (thrown) {
      said = `${toError(thrown).message} ${JSON.stringify(thrown)}`;
    }
    expect(said).not.toContain('sk-123');
    expect(said).toContain('key');
  });

  it('stands in place of the usual variables, and needs a URL for a name that is not usual', () => {
    const env = { LONGREIN_PROVIDERS_FILE: fileOf(right), OPENAI_API_KEY: 'k' };
    const { openaiCompatible, servers } = readModelConfig(env);
    expect(openaiCompatible).toEqual([]);
    expect(servers).toMatchObject([
      { name: 'openai', baseUrl: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY' },
      { name: 'local', baseUrl: 'http://127.0.0.1:8080/v1', apiKeyFile: 'KEY' },
    ]);
    const nameless = fileOf('providers:\n  mine: {}');
    expect(() => readModelConfig({ LONGREIN_PROVIDERS_FILE: nameless })).toThrow(/mine .* baseUrl/);
  });

  it('takes a key from its file, and says which file has none', async () => {
    const key = join(directory, 'key');
    const path = fileOf(right.replace('KEY', key));
    const config = readModelConfig({ LONGREIN_PROVIDERS_FILE: path, OPENAI_API_KEY: 'k' });
    const parts = { secret: () => 'k', nowMs: () => 0 };
    await expect(createProviders(config, parts)).rejects.toThrow(`provider local, ${key}, cannot`);
    writeFileSync(key, '\n');
    await expect(createProviders(config, parts)).rejects.toThrow('is empty');
    writeFileSync(key, 'sk-key\n');
    expect([...(await createProviders(config, parts)).keys()]).toEqual(['openai', 'local']);
  });
});
