import { type Call, type CommandSpec, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { count } from '../figures.ts';
import { asObjects, isNumeric, type Rows, readRows } from '../query-rows.ts';
import { table } from '../table.ts';

/** Asks ClickHouse, read-only. */
export const sql: CommandSpec = {
  name: 'sql <statement>',
  about: 'ask ClickHouse, read-only: a table on a terminal, tab-separated lines elsewhere',
  examples: [
    'longrein sql "SELECT status, count() FROM sessions GROUP BY status"',
    'longrein sql "SHOW TABLES"',
  ],
  async run(call) {
    const { queryClickhouse } = await import('../clickhouse-query.ts');
    const [statement = ''] = call.args;
    const rowsWanted = call.json || call.terminal.outIsTty;
    const format = rowsWanted ? 'JSONCompact' : 'TabSeparatedWithNames';
    const answer = await queryClickhouse(call.environment, { sql: statement, format });
    if (call.json) {
      const rows = readRows(answer.text);
      writeJson(call, { columns: rows.columns, rows: asObjects(rows) });
    } else if (answer.format === 'JSONCompact' && rowsWanted) {
      call.terminal.out(tell(call, readRows(answer.text)));
    } else {
      call.terminal.out(answer.text);
    }
    return exitCodes.done;
  },
};

function tell(call: Call, { columns, rows }: Rows): string {
  const { bold, dim } = call.terminal.colors;
  const text = table({
    columns: columns.map(({ name, type }) => ({
      title: name,
      ...(isNumeric(type) ? { right: true } : {}),
    })),
    rows: rows.map((row) => row.map(cell)),
    widthMax: call.terminal.columns,
    paintTitle: bold,
  });
  return `${text}${dim(count(rows.length, 'row'))}\n`;
}

function cell(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
