import { nearest } from '../../../chassis/words/nearest.ts';
import { type Call, type CommandSpec, textOption, writeJson } from '../context.ts';
import { type CostLine, costTable, totalOf } from '../cost-text.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { type Rows, readRows } from '../query-rows.ts';
import { clickhouseSeconds, parseMoment } from '../time-span.ts';

const dimensions: Readonly<Record<string, string>> = {
  tenant: 'tenant_id',
  agent: 'agent_type',
  pool: 'pool',
  provider: 'provider',
  model: `concat(provider, '/', model)`,
  tool: 'tool',
  release: 'release',
  day: 'toString(toDate(hour))',
  hour: 'toString(hour)',
};
const inTime = new Set(['day', 'hour']);

/** What was spent, from the hourly rollup. */
export const cost: CommandSpec = {
  name: 'cost',
  about: 'what was spent, on whom and on what, as bars',
  options: [
    {
      flags: '--by <what>',
      about: `${Object.keys(dimensions).join(', ')} or label:NAME (default model)`,
    },
    { flags: '--since <time>', about: 'from when: 24h, 7d, 2026-03-01 (default 30d)' },
    { flags: '--until <time>', about: 'up to when (default now)' },
    { flags: '--tenant <id>', about: 'of one tenant only' },
    { flags: '--limit <n>', about: 'so many lines, the rest as one (default 20)' },
  ],
  examples: ['longrein cost', 'longrein cost --by label:cost_centre --since 7d'],
  async run(call) {
    const { queryClickhouse } = await import('../clickhouse-query.ts');
    const by = textOption(call, 'by') ?? 'model';
    const sql = statementFor(by);
    const parameters = parametersOf(call, by);
    const limit = limitOf(call);
    const answer = await queryClickhouse(call.environment, {
      sql,
      format: 'JSONCompact',
      parameters,
    });
    const all = linesOf(readRows(answer.text));
    const total = totalOf(all);
    const lines = inTime.has(by) ? all : cutOff(all, limit);
    if (call.json) writeJson(call, { by, lines, total });
    else if (all.length === 0) call.terminal.out(nothing(call));
    else call.terminal.out(costTable(call.terminal, { by, lines, total }));
    return exitCodes.done;
  },
};

/** The statement for one way to look at it. Throws UsageError. */
export function statementFor(by: string): string {
  const expression = by.startsWith('label:') ? 'labels_map[{label:String}]' : dimensions[by];
  if (expression === undefined) {
    const meant = nearest(by, Object.keys(dimensions));
    const advice = meant === undefined ? '' : `Did you mean ${meant}? `;
    const known = `${Object.keys(dimensions).join(', ')}, label:NAME`;
    throw new UsageError(`cost cannot be shown by "${by}"`, `${advice}Known: ${known}.`);
  }
  return `SELECT ${expression} AS name, sum(cost_nano_usd) AS cost, sum(calls) AS calls,
      sum(errors) AS errors, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
    FROM longrein.costs_hourly
    WHERE (tenant_id = {tenant:String} OR {tenant:String} = '')
      AND hour >= {since:DateTime} AND hour < {until:DateTime}
      ${by === 'tool' ? `AND tool != ''` : ''}${by === 'model' ? `AND model != ''` : ''}
    GROUP BY name ORDER BY ${inTime.has(by) ? 'name' : 'cost DESC, calls DESC, name'}`;
}

function parametersOf(call: Call, by: string): Record<string, string> {
  const nowMs = Date.now();
  const moment = (name: string, standard: string): string =>
    clickhouseSeconds(parseMoment(textOption(call, name) ?? standard, nowMs));
  return {
    tenant: textOption(call, 'tenant') ?? '',
    since: moment('since', '30d'),
    until: moment('until', 'now'),
    ...(by.startsWith('label:') ? { label: by.slice('label:'.length) } : {}),
  };
}

function limitOf(call: Call): number {
  const text = textOption(call, 'limit') ?? '20';
  const limit = Number(text);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new UsageError(`--limit is "${text}"`, 'Give a whole number above 0.');
}

const linesOf = ({ rows }: Rows): readonly CostLine[] =>
  rows.map(([name, cost, calls, errors, tokensIn, tokensOut]) => ({
    name: String(name) || 'none',
    costNanoUsd: Number(cost),
    calls: Number(calls),
    errors: Number(errors),
    tokensIn: Number(tokensIn),
    tokensOut: Number(tokensOut),
  }));

function cutOff(lines: readonly CostLine[], limit: number): readonly CostLine[] {
  if (lines.length <= limit) return lines;
  const rest = lines.slice(limit - 1);
  return [...lines.slice(0, limit - 1), { ...totalOf(rest), name: `${rest.length} others` }];
}

const nothing = (call: Call): string =>
  `No calls since ${textOption(call, 'since') ?? '30d'}. Try --since 90d, or load an example: longrein sample-data\n`;
