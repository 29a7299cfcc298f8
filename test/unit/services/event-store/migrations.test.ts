import { expect, test } from 'vitest';
import { asReplicated, readMigrations } from '../../../../services/event-store/migrations.ts';

test('on a cluster every table is replicated and remembers the tokens of a week', () => {
  const statements = readMigrations().flatMap((one) => one.statements.map(asReplicated));
  const tables = statements.filter((one) => one.startsWith('CREATE TABLE'));
  expect(tables.length).toBeGreaterThan(5);
  for (const table of tables) {
    expect(table).toMatch(/ENGINE = Replicated(Replacing|Aggregating)MergeTree/);
    expect(table).toMatch(
      /replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800/,
    );
    expect(table).not.toContain('non_replicated');
  }
  expect(asReplicated('CREATE DATABASE IF NOT EXISTS longrein')).toMatch(/ENGINE = Replicated\(/);
});

test('what makes no table is left as it is', () => {
  const views = readMigrations()
    .flatMap((one) => one.statements)
    .filter((one) => !one.startsWith('CREATE TABLE'));
  for (const view of views) expect(asReplicated(view)).toBe(view);
});

test('every migration has a number of its own, without a gap', () => {
  const numbers = readMigrations().map(({ version }) => version);
  expect(numbers).toEqual(numbers.map((_none, index) => index + 1));
});
