import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../schemas/json.ts';
import { createPriceBook } from '../../../../../services/model-gateway/prices.ts';
import { createAnthropicProvider } from '../../../../../services/model-gateway/providers/anthropic.ts';
import { createOpenAiCompatibleProvider } from '../../../../../services/model-gateway/providers/openai-compatible.ts';
import type { StructuredOutput } from '../../../../../services/model-gateway/providers/port.ts';
import {
  isStrict,
  shapeOf,
} from '../../../../../services/model-gateway/providers/structured-output.ts';
import { completedOf, requestOf, testNowMs } from '../../../../support/model-requests.ts';
import { type ModelServer, startModelServer } from '../../../../support/model-server.ts';

const outputSchema = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 80 }, pattern: { type: 'string' } },
  required: ['name', 'pattern'],
  additionalProperties: false,
};
const tools = [{ name: 'read', description: 'Reads.', inputSchema: { type: 'object' } }];

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(() => server.stop());

const parts = () => ({ prices: createPriceBook(), nowMs: () => testNowMs, apiKey: 'sk-test' });

/** The body that the server got. */
async function sentToOpenAi(structuredOutput: StructuredOutput | undefined, more: object = {}) {
  const message = { role: 'assistant', content: '{"name":"a","pattern":"b"}' };
  const choices = [{ index: 0, finish_reason: 'stop', message }];
  server.answer({ body: { id: 'c', object: 'chat.completion', model: 'm', choices } });
  const at = { name: 'local', baseUrl: `${server.url}/v1`, structuredOutput };
  const provider = createOpenAiCompatibleProvider({ ...parts(), ...at });
  const model = 'local/m';
  completedOf(await provider.complete(requestOf({ model, outputSchema, ...more })));
  return server.requests[0]?.body as Readonly<Record<string, JsonObject>>;
}

async function sentToAnthropic(structuredOutput: StructuredOutput | undefined, more: object = {}) {
  const content = [{ type: 'text', text: '{"name":"a","pattern":"b"}' }];
  const usage = { input_tokens: 10, output_tokens: 5 };
  const head = { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' };
  server.answer({
    body: { ...head, content, stop_reason: 'end_turn', stop_sequence: null, usage },
  });
  const at = { name: 'anthropic', baseUrl: `${server.url}/v1`, structuredOutput };
  const model = 'anthropic/claude-sonnet-4-5';
  const provider = createAnthropicProvider({ ...parts(), ...at });
  completedOf(await provider.complete(requestOf({ model, outputSchema, ...more })));
  return server.requests[0]?.body as Readonly<Record<string, JsonObject>>;
}

describe('a server of OpenAI’s protocol', () => {
  it('gets the shape of the schema, without bounds, and strictly', async () => {
    const { response_format: format } = await sentToOpenAi(undefined);
    const properties = { name: { type: 'string' }, pattern: { type: 'string' } };
    const schema = { ...outputSchema, properties };
    expect(format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', strict: true, schema },
    });
  });

  it('a schema that strict mode would refuse is sent without it', async () => {
    const open = { type: 'object', properties: { name: { type: 'string' } } };
    const { response_format: format } = await sentToOpenAi('schema', { outputSchema: open });
    expect(format).toMatchObject({ json_schema: { strict: false, schema: open } });
  });

  it.each([
    ['schema', undefined],
    ['schema-beside-tools', 'json_schema'],
    ['json', undefined],
    ['none', undefined],
  ] as const)('beside tools, where it says %s, gets %s', async (can, type) => {
    const { response_format: format } = await sentToOpenAi(can, { tools });
    expect(format?.['type']).toBe(type);
  });

  it.each([
    ['json', { type: 'json_object' }],
    ['none', undefined],
  ] as const)('that says %s gets %j', async (can, format) => {
    expect((await sentToOpenAi(can))['response_format']).toEqual(format);
  });
});

describe('a server of Anthropic’s protocol', () => {
  it.each([
    ['schema', {}],
    ['schema-beside-tools', { tools }],
  ] as const)('gets its own output format where it says %s', async (can, more) => {
    const { output_config: config } = await sentToAnthropic(can, more);
    expect(config).toMatchObject({ format: { type: 'json_schema' } });
    expect(JSON.stringify(config)).not.toContain('maxLength');
  });

  it.each([
    ['none', {}],
    ['schema', { tools }],
  ] as const)('gets none where it says %s with %j', async (can, more) => {
    expect(await sentToAnthropic(can, more)).not.toHaveProperty('output_config');
  });
});

it('what bounds values is left out, names of members are not', () => {
  const schema = {
    $defs: { id: { type: 'string', format: 'uuid' } },
    type: 'object',
    properties: { format: { const: { maxLength: 1 } }, all: { items: { $ref: '#/$defs/id' } } },
    anyOf: [{ minProperties: 1 }, { required: ['format'] }],
  };
  expect(shapeOf(schema)).toEqual({
    $defs: { id: { type: 'string' } },
    type: 'object',
    properties: { format: { const: { maxLength: 1 } }, all: { items: { $ref: '#/$defs/id' } } },
    anyOf: [{}, { required: ['format'] }],
  });
});

it('strict is a schema whose objects all name and require their members', () => {
  const closed = { type: 'object', properties: {}, additionalProperties: false };
  expect(isStrict({ type: 'array', items: closed })).toBe(true);
  expect(isStrict({ type: 'array', items: { type: 'object' } })).toBe(false);
  expect(isStrict({ ...closed, properties: { a: { type: 'string' } } })).toBe(false);
  expect(isStrict({ enum: [{ properties: {} }] })).toBe(true);
});
