import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import {
  contentSchema,
  eventSchemas,
  publicSchemas,
  recordSchemas,
} from '../../../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../../../schemas/json.ts';
import { packageRoot } from '../../../../../services/chassis/config/package-root.ts';

const folder = join(packageRoot, 'schemas', 'definitions');

/** What people write in files is checked against these. */
const definitions = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as JsonObject);

test('every schema of the release is a JSON Schema: processes take that for granted', () => {
  const ajv = new Ajv2020({ strict: false });
  const all = [contentSchema, ...eventSchemas, ...recordSchemas, ...publicSchemas, ...definitions];
  expect(definitions.length).toBeGreaterThan(5);
  for (const schema of all) {
    const isValid = ajv.validateSchema(schema as Record<string, unknown>);
    expect(isValid, `${String(schema['$id'])}: ${ajv.errorsText()}`).toBe(true);
  }
});

test('one that is not would be seen', () => {
  const ajv = new Ajv2020({ strict: false });
  expect(ajv.validateSchema({ type: 'objekt' })).toBe(false);
});
