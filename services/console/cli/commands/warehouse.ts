import type { CommandSpec, GroupSpec } from '../context.ts';
import { cost } from './cost.ts';
import { events } from './events.ts';
import { migrate } from './migrate.ts';
import { query } from './query.ts';
import { sampleData } from './sample-data.ts';
import { sql } from './sql.ts';

/** What asks ClickHouse, and what keeps it. */
export const warehouse: readonly (CommandSpec | GroupSpec)[] = [
  cost,
  query,
  sql,
  sampleData,
  events,
  migrate,
];
