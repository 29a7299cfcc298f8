/** One statement, asked and shown in the form that was wished for. */
import { type AnswerFormat, answerDocument, answerTable } from './answer-text.ts';
import { queryClickhouse } from './clickhouse-query.ts';
import { type Call, textOption, writeJson } from './context.ts';
import { readRows } from './query-rows.ts';

/** `--format`, else JSON with `--json`, a table on a terminal, and lines elsewhere. */
export function formatOf(call: Call): AnswerFormat | 'lines' {
  const wanted = textOption(call, 'format');
  if (call.json || wanted === 'json') return 'json';
  if (wanted === 'csv' || wanted === 'table') return wanted;
  return call.terminal.outIsTty ? 'table' : 'lines';
}

const wireFormats = {
  table: 'JSONCompact',
  json: 'JSONCompact',
  csv: 'CSVWithNames',
  lines: 'TabSeparatedWithNames',
} as const;

/** Throws what `queryClickhouse` throws, and SQL_FORMAT. */
export async function ask(
  call: Call,
  sql: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<void> {
  const format = formatOf(call);
  const wire = wireFormats[format];
  const answer = await queryClickhouse(call.environment, { sql, format: wire, parameters });
  if (format === 'json') writeJson(call, answerDocument(readRows(answer.text)));
  else if (format === 'table' && answer.format === wire)
    call.terminal.out(answerTable(call.terminal, readRows(answer.text)));
  else call.terminal.out(answer.text);
}
