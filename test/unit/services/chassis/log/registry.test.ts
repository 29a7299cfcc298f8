import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { eventSchemas } from '../../../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../../../schemas/json.ts';
import { createFixedCodec, subjects } from '../../../../../services/chassis/log/codec.ts';
import { eventSubject, subjectsOf } from '../../../../../services/chassis/log/registry.ts';
import { exampleOf } from '../../../../support/schema-example.ts';

const all = subjectsOf();

test('every subject has a name of its own', () => {
  const names = all.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.every((name) => /^longrein\.[a-z.-]+$/.test(name))).toBe(true);
});

test('every event has a subject', () => {
  const events = all.filter(({ name }) => name.startsWith('longrein.event.'));
  expect(events).toHaveLength(eventSchemas.length);
  expect(events.map(({ name }) => name)).toContain('longrein.event.tool.claimed');
});

test('a second version of an event has a subject beside the first', () => {
  const schema = { $id: 'urn:longrein:event:tool.claimed:v2' };
  expect(eventSubject(schema)).toBe('longrein.event.tool.claimed.v2');
});

test('every subject of the codec is registered, once', () => {
  const registered = all.flatMap(({ codecName }) => codecName ?? []);
  expect(new Set(registered).size).toBe(registered.length);
  for (const subject of subjects) expect(registered).toContain(subject);
  // Those that others write and nobody here encodes.
  const foreign = ['goal-cancel', 'goal-signal', 'approval-decision'];
  for (const name of registered.filter((one) => !foreign.includes(one)))
    expect(() => createFixedCodec().encode(name, {}), name).not.toThrow();
});

describe.each(all)('the schema of $name', ({ schema }) => {
  test('is of the dialect that registries know and stands alone', () => {
    expect(schema['$schema']).toBe('http://json-schema.org/draft-07/schema#');
    const text = JSON.stringify(schema);
    expect(text).not.toMatch(/"x-[a-z]+"/);
    expect(text).not.toContain('urn:longrein');
    expect(text).not.toContain('"$id"');
    const validate = new Ajv({ strict: false }).compile(schema as Record<string, unknown>);
    expect(typeof validate).toBe('function');
  });
});

test('an event that its own schema accepts is accepted by the one at the registry', () => {
  const strict = { strict: false, allErrors: true };
  for (const [index, schema] of eventSchemas.entries()) {
    const registered = all[index]?.schema as Record<string, unknown>;
    const validate = new Ajv(strict).compile(registered);
    const example = exampleOf(schema as JsonObject, 'all');
    expect(validate(example), `${all[index]?.name} ${JSON.stringify(validate.errors)}`).toBe(true);
  }
});
