/**
 * The JSON Schemas of the files that people write, and their errors in words. Says nothing about
 * how files refer to one another: that is in the rules.
 */

import {
  Ajv2020,
  type ErrorObject,
  type SchemaObject,
  type ValidateFunction,
} from 'ajv/dist/2020.js';
import agentSchema from '../../../schemas/definitions/agent.v1.json' with { type: 'json' };
import type { GoalRule } from '../../../schemas/definitions/goal-rule.ts';
import goalRulesSchema from '../../../schemas/definitions/goal-rules.v1.json' with { type: 'json' };
import serversSchema from '../../../schemas/definitions/mcp-servers.v1.json' with { type: 'json' };
import modelsSchema from '../../../schemas/definitions/models.v1.json' with { type: 'json' };
import planSchema from '../../../schemas/definitions/plan.v1.json' with { type: 'json' };
import poolsSchema from '../../../schemas/definitions/pools.v1.json' with { type: 'json' };
import toolSchema from '../../../schemas/definitions/tool.v1.json' with { type: 'json' };
import type { JsonValue } from '../../../schemas/json.ts';
import { releaseSchemas } from '../protocol/release-schemas.ts';
import { meant } from './known-names.ts';
import type { Violation } from './problem.ts';
import type {
  WrittenAgent,
  WrittenModels,
  WrittenPlan,
  WrittenPools,
  WrittenServers,
  WrittenTool,
} from './written.ts';

/** The value as its kind, or everything that keeps it from being one. */
export type Reader<T> = (value: JsonValue) => { value: T } | { violations: Violation[] };

export type DefinitionReaders = Readonly<{
  plan: Reader<WrittenPlan>;
  agent: Reader<WrittenAgent>;
  tool: Reader<WrittenTool>;
  pools: Reader<WrittenPools>;
  servers: Reader<WrittenServers>;
  models: Reader<WrittenModels>;
  rules: Reader<readonly GoalRule[]>;
}>;

let compiled: DefinitionReaders | undefined;

/** The readers; each compiled once, at the first file of its kind: it takes some tens of milliseconds and never differs. */
export function definitionReaders(): DefinitionReaders {
  compiled ??= createDefinitionReaders();
  return compiled;
}

function createDefinitionReaders(): DefinitionReaders {
  const ajv = new Ajv2020({
    ...releaseSchemas,
    strict: true,
    allErrors: true,
    verbose: true,
    discriminator: true,
    // A validator runs over a few files: making it shorter first takes longer than they do.
    code: { optimize: false },
  });
  const reader = <T>(schema: SchemaObject): Reader<T> => {
    let validate: ValidateFunction<T> | undefined;
    return (value) => {
      const candidate: unknown = value;
      validate ??= ajv.compile<T>(schema);
      if (validate(candidate)) return { value: candidate };
      const errors = validate.errors ?? [];
      return { violations: errors.flatMap((error) => violationsOf(error, value)) };
    };
  };
  return {
    plan: reader(planSchema),
    agent: reader(agentSchema),
    tool: reader(toolSchema),
    pools: reader(poolsSchema),
    servers: reader(serversSchema),
    models: reader(modelsSchema),
    rules: reader(goalRulesSchema),
  };
}

/** One violation; none for an error that only repeats another. */
function violationsOf(error: ErrorObject, value: unknown): Violation[] {
  const path = pathOf(error.instancePath, value);
  const { additionalProperty, missingProperty } = error.params;
  const shown = path.length === 0 ? 'The file' : `"${path.at(-1)}"`;
  if (error.propertyName !== undefined) {
    const named = [...path, error.propertyName];
    return [{ path: named, reason: `"${error.propertyName}" is no name.`, fix: expected(error) }];
  }
  switch (error.keyword) {
    case 'propertyNames':
    case 'if':
      return [];
    case 'false schema':
      return [
        { path, reason: `${shown} does not go with what stands beside it.`, fix: 'Remove it.' },
      ];
    case 'additionalProperties': {
      const unknown = [...path, String(additionalProperty)];
      const reason = `"${additionalProperty}" is unknown.`;
      return [{ path: unknown, reason, fix: allowed(error) }];
    }
    case 'required':
      return [
        { path, reason: `${shown} has no "${missingProperty}".`, fix: `Add "${missingProperty}".` },
      ];
    case 'enum':
      return [{ path, reason: `${shown} has an unknown value.`, fix: choices(error) }];
    case 'discriminator':
      return [{ path, reason: `${shown} has no known "kind".`, fix: kinds(error) }];
    default:
      return [{ path, reason: `${shown} ${error.message ?? 'is wrong'}.`, fix: expected(error) }];
  }
}

/** A JSON pointer as member names and list indexes of `value`. */
function pathOf(pointer: string, value: unknown): (string | number)[] {
  const path: (string | number)[] = [];
  let inside: unknown = value;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(inside) ? Number(name) : name);
    inside = Object(inside)[name];
  }
  return path;
}

function allowed(error: ErrorObject): string {
  const names = Object.keys(Object(error.parentSchema?.properties));
  const near = meant(String(error.params.additionalProperty), names);
  return `${near}Remove it, or use one of: ${names.join(', ')}.`;
}

function choices(error: ErrorObject): string {
  const values: unknown = error.params.allowedValues;
  return `Use one of: ${Array.isArray(values) ? values.join(', ') : ''}.`;
}

function kinds(error: ErrorObject): string {
  const branches: unknown = error.parentSchema?.oneOf;
  const names = Array.isArray(branches) ? branches.map((one) => one?.properties?.kind?.const) : [];
  return `Use one of: ${names.join(', ')}.`;
}

function expected(error: ErrorObject): string {
  const description: unknown = error.parentSchema?.description;
  return typeof description === 'string' ? `Expected: ${description}` : 'Correct it.';
}
