/** What a schema cannot say of a tool or of an MCP server. Pure. */

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { McpServerDefinition } from '../../../schemas/definitions/mcp-server.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { toError } from '../errors.ts';
import { builtInTools } from './built-in-tools.ts';
import { type CatalogNames, under, unknownName } from './known-names.ts';
import type { Violation } from './problem.ts';
import { isServerCheck } from './server-checks.ts';

/** Says why a value is not a JSON Schema that can be used; undefined if it is one. */
export type SchemaCheck = (schema: JsonObject) => string | undefined;

let check: SchemaCheck | undefined;

/** The check; made once, because that takes some tens of milliseconds and it remembers nothing. */
export function schemaCheck(): SchemaCheck {
  check ??= createSchemaCheck();
  return check;
}

/** Strict: a keyword that is spelled wrong would let every argument pass. */
function createSchemaCheck(): SchemaCheck {
  // What is compiled here never runs.
  const ajv = new Ajv2020({ strict: true, code: { optimize: false } });
  return (schema) => {
    try {
      ajv.compile(schema);
      return undefined;
    } catch (thrown) {
      return toError(thrown).message;
    } finally {
      // Two tools may have schemas of one `$id`.
      ajv.removeSchema(schema);
    }
  };
}

/** Every rule that `tool` breaks; an empty list when it may be used. */
export function validateTool(
  tool: ToolDefinition,
  catalog: CatalogNames,
  checkSchema: SchemaCheck,
): Violation[] {
  const { runner, inputSchema, outputSchema } = tool;
  const invalid = (schema: JsonObject, member: string): Violation[] => {
    const why = checkSchema(schema);
    if (why === undefined) return [];
    const reason = `"${member}" is not a valid JSON Schema: ${why}.`;
    return [{ path: [member], reason, fix: 'Write it as JSON Schema of 2020-12.' }];
  };
  const server = runner.kind === 'mcp' ? runner.server : undefined;
  return [
    ...(Object.hasOwn(builtInTools, tool.name) || isServerCheck(tool.name)
      ? [builtInName(tool.name)]
      : []),
    ...invalid(inputSchema, 'inputSchema'),
    ...(inputSchema.type === 'object' ? [] : [notAnObject]),
    ...(outputSchema === undefined ? [] : invalid(outputSchema, 'outputSchema')),
    ...(tool.silenceMs !== undefined && runner.kind !== 'mcp' ? [nobodyTells] : []),
    ...(server === undefined
      ? []
      : unknownName(server, catalog.mcpServers, 'MCP server').map(under('runner', 'server'))),
  ];
}

const builtInName = (name: string): Violation => ({
  path: ['name'],
  reason: `"${name}" is a built-in tool of every catalog.`,
  fix: 'Give the tool another name.',
});

const nobodyTells: Violation = {
  path: ['silenceMs'],
  reason: 'Only a tool of an MCP server can tell of progress, and this is none.',
  fix: 'Leave "silenceMs" out; "timeoutMs" ends a call that takes too long.',
};

const notAnObject: Violation = {
  path: ['inputSchema'],
  reason: 'The arguments of a tool are an object, but "inputSchema" does not say so.',
  fix: 'Add "type: object" to it.',
};

const variable = /\$\{([^}]*)\}/g;

/** Variables of `server` that nobody fills in. The path is inside the server. */
export function validateServer(server: McpServerDefinition): Violation[] {
  const places: [(string | number)[], string][] = server.args.map((text, index) => [
    ['args', index],
    text,
  ]);
  if (server.cwd !== undefined) places.push([['cwd'], server.cwd]);
  return places.flatMap(([path, text]) =>
    [...text.matchAll(variable)]
      .filter(([, name]) => name !== 'workspace')
      .map(([shown]) => {
        const fix = `Only \${workspace} can be used.`;
        return { path, reason: `"${shown}" has no value.`, fix };
      }),
  );
}
