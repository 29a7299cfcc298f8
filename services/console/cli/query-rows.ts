/** Rows out of ClickHouse's format JSONCompact. Pure. */
import { LongreinError } from '../../chassis/errors.ts';

export interface Rows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Whole numbers of 64 bits come as text; those that fit are numbers again. Throws SQL_FORMAT. */
export function readRows(text: string): Rows {
  let parsed: { meta: { name: string; type: string }[]; data: unknown[][] };
  try {
    parsed = JSON.parse(text) as typeof parsed;
  } catch (cause) {
    throw new LongreinError('SQL_FORMAT', 'the answer is not JSON', {
      fix: 'Leave FORMAT out of the statement; --json chooses it.',
      cause,
    });
  }
  const columns = parsed.meta;
  const rows = parsed.data.map((row) =>
    row.map((value, index) => numberIfSafe(value, columns[index]?.type ?? '')),
  );
  return { columns, rows };
}

/** One object for each row. */
export const asObjects = ({ columns, rows }: Rows): Record<string, unknown>[] =>
  rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])));

/** Whether values of this type stand to the right. */
export const isNumeric = (type: string): boolean =>
  /^(Nullable\()?(U?Int|Float|Decimal)\d/.test(type);

function numberIfSafe(value: unknown, type: string): unknown {
  if (typeof value !== 'string' || !isNumeric(type)) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
