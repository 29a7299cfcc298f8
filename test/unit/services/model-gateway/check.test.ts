/** What `longrein doctor` says of model providers. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkModels } from '../../../../services/model-gateway/check.ts';
import { type ModelServer, startModelServer } from '../../../support/model-server.ts';

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(() => server.stop());

const listed = { object: 'list', data: [{ id: 'gpt-4o-mini' }, { id: 'gpt-4o' }] };
const environment = (changes: Record<string, string> = {}) => ({
  LONGREIN_OPENAI_BASE_URL: `${server.url}/v1`,
  OPENAI_API_KEY: 'sk-test-0123456789',
  ...changes,
});
const check = async (models: string[] = [], changes = {}) =>
  (await checkModels(environment(changes), models))[0];

it('a server that takes the key and has the models is well', async () => {
  server.answer({ body: listed });
  expect(await check(['openai/gpt-4o', 'scripted/demo'])).toMatchObject({ ok: true });
  expect(server.requests[0]?.headers.authorization).toBe('Bearer sk-test-0123456789');
  expect(server.requests[0]?.path).toBe('/v1/models');
});

it('a wrong key is said, with the variable to put it into, and without the key', async () => {
  server.answer({ status: 401, body: { error: { message: 'no' } } });
  const found = await check();
  expect(found).toMatchObject({ ok: false, fix: 'Put a valid key into OPENAI_API_KEY.' });
  expect(JSON.stringify(found)).not.toContain('sk-test');
});

it('a model that the server does not have is said, with the nearest that it has', async () => {
  server.answer({ body: listed });
  expect(await check(['openai/gpt-4o-minny'])).toMatchObject({
    ok: false,
    detail: `${server.url}/v1 has no model gpt-4o-minny`,
    fix: 'Name one that it has: gpt-4o-mini.',
  });
});

it('a base URL that is down is said at once', async () => {
  await server.stop();
  expect(await check()).toMatchObject({ ok: false, name: 'model provider openai' });
  server = await startModelServer();
});

it('a base URL at a port that nobody may connect to is said as what it is', async () => {
  const found = await check([], { LONGREIN_OPENAI_BASE_URL: 'http://127.0.0.1:6000/v1' });
  expect(found).toMatchObject({ ok: false, fix: 'Correct the variable or unset it.' });
  expect(found?.detail).toContain('LONGREIN_OPENAI_BASE_URL port 6000 is one that no HTTP client');
});

it('a missing key is said with its variable', async () => {
  const [found] = await checkModels({ LONGREIN_MODEL: 'anthropic/claude-sonnet-4-5' }, []);
  expect(found).toMatchObject({ ok: false, fix: 'Set ANTHROPIC_API_KEY to your key.' });
  expect(found?.detail).toContain('ANTHROPIC_API_KEY is not set');
});

it('where nothing is set up there is nothing to say', async () => {
  expect(await checkModels({}, ['scripted/demo'])).toEqual([]);
});

it('a provider that agents name and nobody set up is said, with its variable and what is named', async () => {
  const named = ['openai/gpt-4o', 'openai/gpt-4o-mini', 'scripted/demo'];
  expect(await checkModels({}, named)).toEqual([
    {
      name: 'model provider openai',
      ok: false,
      detail:
        'OPENAI_API_KEY is not set, but agents or plans name openai/gpt-4o, openai/gpt-4o-mini',
      fix: 'Set OPENAI_API_KEY to your key. For a local server set LONGREIN_OPENAI_BASE_URL.',
    },
  ]);
});

it('a misspelt provider is said with the nearest name, beside those that are well', async () => {
  server.answer({ body: listed });
  const found = await checkModels(environment(), ['openai/gpt-4o', 'antropic/claude-sonnet-4-5']);
  expect(found.map(({ ok }) => ok)).toEqual([true, false]);
  expect(found[1]?.detail).toBe(
    'there is no provider antropic, but agents or plans name antropic/claude-sonnet-4-5',
  );
  expect(found[1]?.fix).toContain('Did you mean anthropic?');
});
