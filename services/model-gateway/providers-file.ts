/**
 * Reads `LONGREIN_PROVIDERS_FILE`: which servers answer for models, where their keys are, and what
 * limits the calls of each provider and each tenant. The file names keys; it never holds one.
 */

import { z } from 'zod';
import { nearest } from '../chassis/words/nearest.ts';
import { breakerDefaults } from './gate/breaker.ts';
import type { GateRules } from './gate/rules.ts';
import { type StructuredOutput, structuredOutputs } from './providers/port.ts';
import { serverUrl } from './server-url.ts';
import { readYamlFile } from './yaml-file.ts';

export type Protocol = 'openai' | 'anthropic';

/** Where a key is: the name of a variable, or a file that holds nothing else. */
export type KeyPlace = Readonly<{ env: string }> | Readonly<{ file: string }>;

export type ServerEntry = Readonly<{
  name: string;
  protocol: Protocol;
  baseUrl?: string | undefined;
  key?: KeyPlace | undefined;
  /** How long the first token may take, in milliseconds; the call's own time-out stays. */
  firstTokenMs?: number | undefined;
  /** The longest pause in the middle of an answer; undefined: up to the deadline. */
  silenceMs?: number | undefined;
  /** What of JSON it can promise; `schema` if nothing is said. */
  structuredOutput?: StructuredOutput | undefined;
  /** False for a server that cannot stream its answers. */
  stream?: boolean | undefined;
}>;

/** What a tenant may spend in a day (UTC), and how much of it one session borrows at once. */
export type DayBudget = Readonly<{ dayNanoUsd: number; trancheNanoUsd: number }>;

export type ProvidersFile = Readonly<{
  servers: readonly ServerEntry[];
  gate: GateRules;
  /** By tenant; `*` stands for every tenant that is not named. */
  dayBudgets: Readonly<Record<string, DayBudget>>;
}>;

const code = 'PROVIDERS_INVALID';
const fix = 'Correct the file at that place; docs/models-and-budgets.md shows one that is right.';

/** An object with these members and no others; one that is misspelt is told its right name. */
function members<T extends z.ZodRawShape>(shape: T) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined;
      const [unknown = ''] = (issue as { keys?: string[] }).keys ?? [];
      const meant = nearest(unknown, known);
      const hint = meant === undefined ? `known are ${known.join(', ')}` : `"${meant}" is meant?`;
      return `"${unknown}" is unknown: ${hint}`;
    },
  });
}

const count = z.int().min(1).optional();
const limits = { requestsPerMinute: count, tokensPerMinute: count, concurrentMax: count };
const variable = z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'the name of a variable is expected');
const key = z.union([members({ env: variable }), members({ file: z.string().min(1) })], {
  error: 'a key is named as {env: VARIABLE} or {file: PATH}; it never stands here itself',
});
const server = members({
  protocol: z.enum(['openai', 'anthropic']).optional(),
  baseUrl: serverUrl.optional(),
  key: key.optional(),
  firstTokenMs: z.int().min(100).max(600_000).optional(),
  silenceMs: z.int().min(100).max(600_000).optional(),
  structuredOutput: z.enum(structuredOutputs).optional(),
  stream: z.boolean().optional(),
  ...limits,
});
const tenant = members({
  ...limits,
  dayBudgetNanoUsd: z.int().min(0).optional(),
  trancheNanoUsd: z.int().min(1).optional(),
});
const providerName = z.string().regex(/^[a-z][a-z0-9-]*$/, 'a provider is named like openai-eu');
const file = members({
  providers: z.record(providerName, server).default({}),
  tenants: z.record(z.string().min(1).max(128), tenant).default({}),
  breaker: members({
    failuresMax: z.int().min(1).max(1_000).default(breakerDefaults.failuresMax),
    coolMs: z.int().min(100).max(300_000).default(breakerDefaults.coolMs),
  }).optional(),
});

type Written = z.infer<typeof file>;

const limitsOf = ({
  requestsPerMinute,
  tokensPerMinute,
  concurrentMax,
}: Written['tenants']['']) => ({
  requestsPerMinute,
  tokensPerMinute,
  concurrentMax,
});

/** A session borrows a fiftieth of the day unless the file says otherwise. */
function dayBudgetsOf({ tenants }: Written): Record<string, DayBudget> {
  const budgets = Object.entries(tenants).flatMap(([name, one]) => {
    const { dayBudgetNanoUsd: dayNanoUsd, trancheNanoUsd } = one;
    if (dayNanoUsd === undefined) return [];
    const most = Math.max(1, Math.floor(dayNanoUsd / 50));
    return [[name, { dayNanoUsd, trancheNanoUsd: trancheNanoUsd ?? most }] as const];
  });
  return Object.fromEntries(budgets);
}

const serversOf = ({ providers }: Written): ServerEntry[] =>
  Object.entries(providers).map(([name, one]) => ({
    name,
    protocol: one.protocol ?? (name === 'anthropic' ? 'anthropic' : 'openai'),
    baseUrl: one.baseUrl,
    key: one.key,
    firstTokenMs: one.firstTokenMs,
    silenceMs: one.silenceMs,
    structuredOutput: one.structuredOutput,
    stream: one.stream,
  }));

/** The file at `path`. Throws LongreinError PROVIDERS_INVALID with file, line and field. */
export function readProvidersFile(path: string): ProvidersFile {
  const written = readYamlFile<Written>(path, { code, schema: file, fix });
  const named = (all: Written['providers'] | Written['tenants']) =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name, limitsOf(one)]));
  const { providers, tenants, breaker = breakerDefaults } = written;
  return {
    servers: serversOf(written),
    gate: { providers: named(providers), tenants: named(tenants), breaker },
    dayBudgets: dayBudgetsOf(written),
  };
}
