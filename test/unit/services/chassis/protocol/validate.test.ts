import { describe, expect, test } from 'vitest';
import { type Draft, event, text } from '../../../../../schemas/event.ts';
import { eventSchemas } from '../../../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../../../schemas/json.ts';
import type { EventRecord } from '../../../../../services/chassis/protocol/event-record.ts';
import {
  problemOfDraft,
  problemOfEvent,
} from '../../../../../services/chassis/protocol/validate.ts';
import { completed, skipped } from '../../../../support/placed-record.ts';
import { exampleOf } from '../../../../support/schema-example.ts';

const schemas = eventSchemas.map((schema) => {
  const type = String((schema['properties'] as Record<string, JsonObject>)['type']?.['const']);
  return { type, schema };
});
const example = (schema: JsonObject, which: 'required' | 'all'): EventRecord =>
  exampleOf(schema, which) as unknown as EventRecord;

describe.each(schemas)('$type', ({ schema }) => {
  test('passes with what it must have, and with all that it may have', () => {
    expect(problemOfEvent(example(schema, 'required'))).toBeUndefined();
    expect(problemOfEvent(example(schema, 'all'))).toBeUndefined();
  });

  test('fails with a member that it does not know, in itself, its data or its contents', () => {
    const whole = example(schema, 'all');
    const strange = { ...whole, strange: 1 } as EventRecord;
    expect(problemOfEvent(strange)).toMatch(/additional properties/);
    const data = { ...whole.data, strange: 1 };
    expect(problemOfEvent({ ...whole, data })).toContain(': /data must NOT have');
    const content = { ...whole.content, strange: { digest: 'x', mediaType: 'y', bytes: 1 } };
    expect(problemOfEvent({ ...whole, content })).toMatch(/additional properties/);
  });

  test('fails without a member that it must have', () => {
    const whole = example(schema, 'all');
    const properties = schema['properties'] as Record<string, JsonObject>;
    for (const name of (properties['data']?.['required'] ?? []) as string[]) {
      const { [name]: _gone, ...data } = whole.data;
      expect(problemOfEvent({ ...whole, data }), name).toContain(`'${name}'`);
    }
  });
});

test('an event of a version or a type that this release does not know has no schema', () => {
  const known = { type: 'task.skipped', version: 2, data: {} };
  expect(problemOfEvent(known)).toBe('event task.skipped version 2 has no schema');
  const strange = { ...known, type: 'task.vanished', version: 1 };
  expect(problemOfEvent(strange)).toBe('event task.vanished version 1 has no schema');
});

describe('a draft', () => {
  test('passes without digests, which it does not have yet', () => {
    expect(problemOfDraft(skipped('a'))).toBeUndefined();
    expect(problemOfDraft(completed('c', 'x#0'))).toBeUndefined();
  });

  test('fails with a content that is not its own, or without one that it must have', () => {
    const noted = { ...skipped('a'), content: { note: text('x') } } as Draft;
    expect(problemOfDraft(noted)).toMatch(/additional properties/);
    const { content: _gone, ...bare } = completed('c', 'x#0');
    expect(problemOfDraft(bare as Draft)).toContain("'content'");
  });

  test('says where the first wrong value is', () => {
    const wrong = event('timer.set', { timer: 't', dueAtMs: -1 });
    expect(problemOfDraft(wrong)).toBe('event timer.set: /data/dueAtMs must be >= 0');
  });
});
