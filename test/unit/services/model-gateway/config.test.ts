import { describe, expect, it } from 'vitest';
import { LongreinError } from '../../../../services/chassis/errors.ts';
import { environmentSecrets, readModelConfig } from '../../../../services/model-gateway/config.ts';
import { forbiddenPorts } from '../../../../services/model-gateway/server-url.ts';

function errorOf(env: Record<string, string>): LongreinError {
  try {
    readModelConfig(env);
  } catch (thrown) {
    if (thrown instanceof LongreinError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('the config of models', () => {
  it('needs nothing: without keys there is the scripted provider only', () => {
    expect(readModelConfig({ OPENAI_API_KEY: ' ', LONGREIN_OPENAI_BASE_URL: '' })).toEqual({
      defaultModel: 'scripted/demo',
      scriptedFile: undefined,
      pricesFile: undefined,
      openaiCompatible: [],
      anthropic: undefined,
    });
  });

  it('has the providers whose usual key variables are set, and holds no key', () => {
    const config = readModelConfig({
      LONGREIN_MODEL: 'anthropic/claude-sonnet-4-5',
      OPENAI_API_KEY: 'key-one',
      OPENROUTER_API_KEY: 'key-two',
      ANTHROPIC_API_KEY: 'key-three',
    });
    expect(config.openaiCompatible).toEqual([
      { name: 'openai', baseUrl: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY' },
      {
        name: 'openrouter',
        baseUrl: 'https://openrouter.ai/api/v1',
        apiKeyEnv: 'OPENROUTER_API_KEY',
      },
    ]);
    expect(config.anthropic).toEqual({
      name: 'anthropic',
      baseUrl: 'https://api.anthropic.com/v1',
      apiKeyEnv: 'ANTHROPIC_API_KEY',
    });
    expect(JSON.stringify(config)).not.toContain('key-');
  });

  it('refuses an address at a port that nobody may connect to', () => {
    const error = errorOf({ LONGREIN_OPENAI_BASE_URL: 'http://127.0.0.1:6000/v1' });
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toContain('LONGREIN_OPENAI_BASE_URL port 6000');
  });

  it.each([...forbiddenPorts])('knows port %i because no fetch connects to it', async (port) => {
    const thrown = await fetch(`http://127.0.0.1:${port}/`).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).toMatchObject({ cause: { message: 'bad port' } });
  });

  it('reaches a compatible server with or without a key', () => {
    const url = 'http://127.0.0.1:8080/v1';
    const env = { LONGREIN_MODEL: 'openai/qwen3', LONGREIN_OPENAI_BASE_URL: url };
    const servers = [env, { ...env, OPENAI_API_KEY: 'k' }].map((each) =>
      readModelConfig(each).openaiCompatible.at(0),
    );
    expect(servers).toEqual([
      { name: 'openai', baseUrl: url, apiKeyEnv: undefined },
      { name: 'openai', baseUrl: url, apiKeyEnv: 'OPENAI_API_KEY' },
    ]);
  });

  it.each([
    ['openai/gpt-4o', 'OPENAI_API_KEY'],
    ['anthropic/claude-sonnet-4-5', 'ANTHROPIC_API_KEY'],
    ['openrouter/qwen/qwen3', 'OPENROUTER_API_KEY'],
  ])('refuses %s without %s, and names the variable', (model, variable) => {
    const error = errorOf({ LONGREIN_MODEL: model });
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toBe(`LONGREIN_MODEL is ${model}, but ${variable} is not set`);
    expect(error.fix).toContain(`Set ${variable}`);
  });

  it('refuses a provider that does not exist, and names those that do', () => {
    const error = errorOf({ LONGREIN_MODEL: 'opnai/gpt-4o' });
    expect(error.message).toContain('no provider opnai');
    expect(error.fix).toContain('scripted, openai, anthropic, openrouter');
  });

  it('refuses what is not a model or not a URL', () => {
    expect(errorOf({ LONGREIN_MODEL: 'gpt-4o' }).code).toBe('MODEL_NAME_INVALID');
    expect(errorOf({ LONGREIN_OPENAI_BASE_URL: 'localhost:8080' }).message).toContain(
      'LONGREIN_OPENAI_BASE_URL must be an http or https URL',
    );
  });
});

it('secrets are looked up by the name of their variable; an empty one is not set', () => {
  const secret = environmentSecrets({ A: ' key ', B: '' });
  expect([secret('A'), secret('B'), secret('C')]).toEqual(['key', undefined, undefined]);
});
