import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventTypes } from '../../schemas/generated/events.ts';
import { eventSchemas, recordSchemas } from '../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { lanes, sessionTopic, topics } from '../../schemas/topics.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { sourceFiles } from '../support/source-tree.ts';

type Generator = Readonly<{
  readEventSchemas(): readonly object[];
  generateTypes(events: readonly object[]): Promise<string>;
  generateSchemas(events: readonly object[]): string;
  withEvents(name: string, events: readonly object[]): string;
}>;
const generatorPath = new URL('../../schemas/generate.mjs', import.meta.url).href;
const generator = (await import(generatorPath)) as Generator;
const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8');

test('generated types and schemas are what the schema files say', async () => {
  const events = generator.readEventSchemas();
  expect(read('schemas/generated/events.ts')).toBe(await generator.generateTypes(events));
  expect(read('schemas/generated/schemas.ts')).toBe(generator.generateSchemas(events));
  for (const name of ['turn', 'input']) {
    expect(read(`schemas/records/${name}.v1.json`)).toBe(generator.withEvents(name, events));
  }
});

test('a second version of an event takes the place of the first in code, and both are checked', async () => {
  const events = generator.readEventSchemas() as readonly JsonObject[];
  const skipped = events.find(({ title }) => title === 'TaskSkippedV1') as JsonObject;
  const properties = { ...(skipped['properties'] as JsonObject), version: { const: 2 } };
  const $id = 'urn:longrein:event:task.skipped:v2';
  const second = { ...skipped, $id, title: 'TaskSkippedV2', properties };
  const types = await generator.generateTypes([...events, second]);
  expect(types).toContain("'task.skipped': TaskSkippedV2;");
  expect(types).not.toContain("'task.skipped': TaskSkippedV1;");
  expect(types.split("  'task.skipped',").length).toBe(2);
  expect(generator.withEvents('turn', [...events, second])).toContain(`"${$id}"`);
});

test('every event is decided, relayed or written by some service, and folded by another', () => {
  const code = sourceFiles(/\.ts$/).filter(({ path }) =>
    /^services\/(?!chassis\/protocol)/.test(path),
  );
  const unused = eventTypes.filter((type) => !code.some(({ text }) => text.includes(`'${type}'`)));
  expect(unused).toEqual([]);
});

test('the schemas of turns and inputs name every event once', () => {
  const text = JSON.stringify(recordSchemas);
  for (const schema of eventSchemas) {
    const id = String((schema as JsonObject)['$id']);
    expect(text.split(`"${id}"`).length - 1, id).toBe(1);
  }
});

test('every lane has a topic, and every topic names its writers and readers', () => {
  const names = topics.map((topic) => topic.name);
  for (const lane of lanes) expect(names).toContain(sessionTopic(lane));
  for (const topic of topics) {
    expect(topic.writers.length, topic.name).toBeGreaterThan(0);
    expect(topic.readers.length, topic.name).toBeGreaterThan(0);
  }
  expect(new Set(names).size).toBe(names.length);
});
