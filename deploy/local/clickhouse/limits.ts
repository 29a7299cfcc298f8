/**
 * What one statement of an analyst may take here. A server has the same in
 * deploy/clickhouse/access/analyst.sql.
 */
export const analystLimits = {
  max_execution_time: 60,
  max_memory_usage: 700_000_000,
  max_result_rows: 1_000_000,
  max_result_bytes: 500_000_000,
  max_rows_to_read: 500_000_000,
} as const;

/** Beyond a limit the statement fails: a part of an answer would be taken for the whole. */
export const analystModes = {
  result_overflow_mode: 'throw',
  read_overflow_mode: 'throw',
  timeout_overflow_mode: 'throw',
} as const;

/** Settings that a restricted caller may not name inside a statement. */
export const isLimit = (name: string): boolean =>
  name in analystLimits || name in analystModes || name === 'readonly' || name === 'allow_ddl';
