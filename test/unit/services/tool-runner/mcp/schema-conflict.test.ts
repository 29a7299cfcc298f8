import { expect, test } from 'vitest';
import type { JsonObject } from '../../../../../schemas/json.ts';
import { schemaConflict } from '../../../../../services/tool-runner/mcp/schema-conflict.ts';

/** A definition and what the server lists now: only what no call could get right is a conflict. */

const object = (properties: JsonObject, required: string[] = [], open = false): JsonObject => ({
  ...{ type: 'object', properties, required },
  ...(open ? {} : { additionalProperties: false }),
});
const path = { path: { type: 'string' } };

test.each([
  ['the same', object(path, ['path']), object(path, ['path'])],
  ['one that narrows it', object(path, ['path']), object({ ...path, head: {} }, ['path'])],
  ['one that knows an optional member less', object({ ...path, head: {} }), object(path)],
  ['one that is open', object(path, ['path'], true), object({ id: {} }, ['id'], true)],
  [
    'one of wider types',
    object({ n: { type: 'integer' } }, ['n']),
    object({ n: { type: ['number', 'null'] } }, ['n']),
  ],
  ['one that says nothing', object(path, ['path']), {}],
])('%s is none', (_name, own, theirs) => {
  expect(schemaConflict(own, theirs)).toBeUndefined();
});

test.each([
  [
    'it requires "id", which the definition does not allow',
    object(path, ['path']),
    object({ ...path, id: {} }, ['path', 'id']),
  ],
  [
    'it does not take "path", which the definition requires',
    object(path, ['path']),
    object({ file: {} }),
  ],
  [
    '"path" is array there and string in the definition',
    object(path, ['path']),
    object({ path: { type: 'array' } }, ['path']),
  ],
])('%s', (why, own, theirs) => {
  expect(schemaConflict(own, theirs)).toBe(why);
});
