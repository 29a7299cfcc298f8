import { LongreinError, toError } from '../../../chassis/errors.ts';
import { type Call, type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { dollars, duration, shortId } from '../figures.ts';
import { asObjects, readRows } from '../query-rows.ts';
import { table } from '../table.ts';

const statuses = ['running', 'completed', 'failed', 'cancelled', 'closed'];

const statement = `
SELECT session_id, goal_id, status, opened_at, ended_at,
  toUnixTimestamp64Milli(coalesce(ended_at, last_at)) - toUnixTimestamp64Milli(opened_at)
    AS duration_ms,
  events, tool_calls, model_calls, tokens_in + tokens_out AS tokens, cost_nano_usd, error_code
FROM sessions
WHERE {status:String} = '' OR status = {status:String}
ORDER BY opened_at DESC
LIMIT {limit:UInt32}`;

/** The newest sessions, from ClickHouse. */
export const sessionList: CommandSpec = {
  name: 'list',
  about: 'the newest sessions, from ClickHouse',
  options: [
    { flags: '--limit <n>', about: 'how many, 20 if not given' },
    { flags: '--status <status>', about: 'only these', choices: statuses },
  ],
  examples: ['longrein session list', 'longrein session list --status failed --limit 5'],
  async run(call) {
    const { queryClickhouse } = await import('../clickhouse-query.ts');
    const parameters = { limit: limitOf(call), status: textOption(call, 'status') ?? '' };
    const query = { sql: statement, format: 'JSONCompact', parameters };
    const { text } = await queryClickhouse(call.environment, query).catch(notYet);
    const sessions = asObjects(readRows(text));
    if (call.json) writeJson(call, { sessions });
    else call.terminal.out(tell(call, sessions));
    return exitCodes.done;
  },
};

/** The tables are made by the event store; until it has run there is no list. */
function notYet(thrown: unknown): never {
  const { code, message } = toError(thrown) as Partial<LongreinError> & Error;
  if (code !== 'SQL_FAILED' || !message.includes('UNKNOWN_TABLE')) throw thrown;
  throw new LongreinError('EVENT_STORE_EMPTY', 'ClickHouse holds no sessions yet', {
    fix: 'The event store makes its tables when it starts; see whether it runs: longrein status',
    cause: thrown,
  });
}

function limitOf(call: Call): string {
  const limit = textOption(call, 'limit') ?? '20';
  if (/^[1-9]\d{0,5}$/.test(limit)) return limit;
  throw new UsageError(`--limit "${limit}" is not a number of sessions`, 'Write one from 1 up.');
}

function tell(call: Call, sessions: readonly Record<string, unknown>[]): string {
  if (sessions.length === 0) {
    return 'There are no such sessions. Make one: longrein goal submit --plan lockfile-audit\n';
  }
  const { bold, green, red, yellow } = call.terminal.colors;
  const paints: Record<string, (text: string) => string> = {
    completed: green,
    running: yellow,
    failed: red,
    cancelled: red,
  };
  const paint = (cell: string, value: string): string => paints[value]?.(cell) ?? cell;
  const columns = [
    { title: 'SESSION' },
    { title: 'GOAL' },
    { title: 'STATUS', paint },
    { title: 'OPENED (UTC)' },
    { title: 'TIME', right: true },
    { title: 'EVENTS', right: true },
    { title: 'TOOLS', right: true },
    { title: 'MODELS', right: true },
    { title: 'TOKENS', right: true },
    { title: 'COST', right: true },
    { title: 'ERROR' },
  ];
  const rows = sessions.map((one) => [
    shortId(String(one['session_id'])),
    String(one['goal_id']),
    String(one['status']),
    String(one['opened_at']).slice(0, 19),
    duration(Number(one['duration_ms'])),
    ...['events', 'tool_calls', 'model_calls', 'tokens'].map((name) => String(one[name])),
    dollars(Number(one['cost_nano_usd'])),
    String(one['error_code']),
  ]);
  return table({ columns, rows, widthMax: call.terminal.columns, paintTitle: bold });
}
