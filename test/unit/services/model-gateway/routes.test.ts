import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ModelConfig } from '../../../../services/model-gateway/config.ts';
import {
  createProviders,
  parseModelName,
  providerFor,
} from '../../../../services/model-gateway/routes.ts';
import { completedOf, requestOf, testNowMs } from '../../../support/model-requests.ts';
import { type ModelServer, startModelServer } from '../../../support/model-server.ts';

const none: ModelConfig = { defaultModel: 'scripted/demo', openaiCompatible: [] };
const keys: Record<string, string> = { A_KEY: 'key-of-a', B_KEY: 'key-of-b' };
const parts = { secret: (variable: string) => keys[variable], nowMs: () => testNowMs };
let directory: string;
let server: ModelServer;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'longrein-models-'));
  server = await startModelServer();
});

afterEach(async () => {
  rmSync(directory, { recursive: true });
  await server.stop();
});

function fileOf(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe('the name of a model', () => {
  it('is the provider and the rest, slashes included', () => {
    expect(parseModelName('openrouter/anthropic/claude')).toEqual({
      provider: 'openrouter',
      model: 'anthropic/claude',
    });
  });

  it.each(['', 'gpt-4o', '/gpt-4o', 'openai/', 'Open AI/x', 'openai/ x'])('is not %j', (name) => {
    expect(() => parseModelName(name)).toThrow(/is not the name of a model/);
  });
});

describe('the providers of a config', () => {
  it('are found by the first part of a model name', async () => {
    const scriptedFile = fileOf('models.yaml', `- { model: demo, answer: '"hello"' }`);
    const providers = await createProviders({ ...none, scriptedFile }, parts);
    const provider = providerFor('scripted/demo', providers);
    const answer = await provider.complete(requestOf({ model: 'scripted/demo' }));
    expect(completedOf(answer).message.text).toBe('hello');
    expect(() => providerFor('openai/gpt-4o', providers)).toThrow(/no provider openai/);
  });

  it('answer from all scripts of the catalog, unless a file is named', async () => {
    const scripts = [
      fileOf('a.yaml', `- { model: one, answer: '"from a"' }`),
      fileOf('b.yaml', `- { model: '*', answer: '"from b"' }`),
    ];
    const said = async (config: ModelConfig, model: string): Promise<string> => {
      const providers = await createProviders(config, { ...parts, scripts });
      const answer = await providerFor(model, providers).complete(requestOf({ model }));
      return completedOf(answer).message.text;
    };
    expect(await said(none, 'scripted/one')).toBe('from a');
    expect(await said(none, 'scripted/two')).toBe('from b');
    const scriptedFile = fileOf('c.yaml', `- { model: '*', answer: '"from c"' }`);
    expect(await said({ ...none, scriptedFile }, 'scripted/one')).toBe('from c');
  });

  it('get their own keys, addresses and prices', async () => {
    const pricesFile = fileOf(
      'prices.yaml',
      'a/*: { inputNanoUsdPerMTokens: 1000000000, outputNanoUsdPerMTokens: 0 }\n',
    );
    const providers = await createProviders(
      {
        ...none,
        pricesFile,
        openaiCompatible: [{ name: 'a', baseUrl: `${server.url}/v1`, apiKeyEnv: 'A_KEY' }],
        anthropic: { name: 'b', baseUrl: `${server.url}/v1`, apiKeyEnv: 'B_KEY' },
      },
      parts,
    );
    const usage = { prompt_tokens: 7, completion_tokens: 1 };
    const choices = [{ index: 0, message: { content: 'A' }, finish_reason: 'stop' }];
    server.answer({ body: { id: '1', model: 'm', choices, usage } });
    const fromA = completedOf(
      await providerFor('a/m', providers).complete(requestOf({ model: 'a/m' })),
    );
    await providerFor('b/m', providers).complete(requestOf({ model: 'b/m' }));
    expect(fromA.cost).toMatchObject({ costNanoUsd: 7000, known: true });
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/v1/chat/completions', 'Bearer key-of-a'],
      ['/v1/messages', undefined],
    ]);
    expect(server.requests[1]?.headers['x-api-key']).toBe('key-of-b');
  });

  it('are refused without their key, or with one name twice', async () => {
    const a = { name: 'a', baseUrl: server.url, apiKeyEnv: 'NO_KEY' };
    await expect(createProviders({ ...none, openaiCompatible: [a] }, parts)).rejects.toThrow(
      'the provider a needs a key, but NO_KEY is not set',
    );
    const twice = [
      { ...a, apiKeyEnv: undefined },
      { ...a, apiKeyEnv: 'A_KEY' },
    ];
    await expect(createProviders({ ...none, openaiCompatible: twice }, parts)).rejects.toThrow(
      'two model providers are called a',
    );
  });

  it('are refused with a file that is missing or wrong, which is named with its line', async () => {
    const scriptedFile = join(directory, 'nowhere.yaml');
    await expect(createProviders({ ...none, scriptedFile }, parts)).rejects.toThrow(
      /nowhere\.yaml cannot be read/,
    );
    const pricesFile = fileOf('prices.yaml', 'a/m:\n  inputNanoUsdPerMTokens: 2.5\n');
    const openaiCompatible = [{ name: 'a', baseUrl: server.url }];
    await expect(createProviders({ ...none, pricesFile, openaiCompatible }, parts)).rejects.toThrow(
      /prices\.yaml:2: a\/m\.inputNanoUsdPerMTokens/,
    );
  });
});
