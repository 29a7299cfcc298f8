import { describe, expect, test } from 'vitest';
import {
  asReplicated,
  readMigrations,
  withNewViewsWhole,
} from '../../../../services/event-store/migrations.ts';

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

describe('a view whose query was changed by a later migration', () => {
  const all = readMigrations();
  const names = ['longrein.costs_hourly_mv', 'longrein.sessions_thin_mv'];
  const about = (migrations: typeof all, name: string): readonly string[] =>
    migrations
      .flatMap(({ statements }) => statements)
      .filter((one) => new RegExp(`(VIEW IF NOT EXISTS|ALTER TABLE) ${name}\\b`).test(one));

  test.each(names)('%s is made once, with its last query, where it is not there yet', (name) => {
    const before = about(all, name);
    expect(before.length).toBeGreaterThan(1);
    const [only = '', ...more] = about(withNewViewsWhole(all, all, new Set()), name);
    expect(more).toEqual([]);
    expect(only).toMatch(new RegExp(`^CREATE MATERIALIZED VIEW IF NOT EXISTS ${name} TO longrein`));
    expect(only.endsWith(before.at(-1)?.replace(/^.*MODIFY QUERY/, '') ?? '?')).toBe(true);
    // A run that was broken off between the two.
    const rest = all.filter(({ version }) => version > 6);
    expect(about(withNewViewsWhole(all, rest, new Set()), name)).toEqual([only]);
  });

  test.each(names)('%s is changed where it is there', (name) => {
    const done = withNewViewsWhole(all, all, new Set([name]));
    expect(about(done, name)).toEqual(about(all, name));
  });

  test('nothing else is touched', () => {
    const others = (migrations: typeof all) =>
      migrations.map(({ statements }) =>
        statements.filter((one) => !names.some((name) => one.includes(name))),
      );
    expect(others(withNewViewsWhole(all, all, new Set()))).toEqual(others(all));
  });
});
