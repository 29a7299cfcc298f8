import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseRetention, retentionStatements } from '../../../../services/event-store/retention.ts';

const rules = (...all: object[]) => parseRetention({ rules: all });

describe('retention', () => {
  test('a tenant with a rule of its own is left out of the general one', () => {
    const statements = retentionStatements(
      rules(
        { class: 'events', keep: '400d', cold: '30d' },
        { class: 'events', tenant: "o'b", keep: '90d' },
      ),
    );
    expect(statements.slice(0, 2)).toEqual([
      'ALTER TABLE longrein.events MODIFY SETTING ttl_only_drop_parts = 0',
      'ALTER TABLE longrein.events MODIFY TTL ' +
        `toDateTime(at) + INTERVAL 30 DAY TO VOLUME 'cold', ` +
        `toDateTime(at) + INTERVAL 400 DAY DELETE WHERE tenant_id NOT IN ('o\\'b'), ` +
        `toDateTime(at) + INTERVAL 90 DAY DELETE WHERE tenant_id = 'o\\'b'`,
    ]);
    expect(statements).toContain('ALTER TABLE longrein.costs_hourly REMOVE TTL');
  });

  test.each([
    [{ class: 'event', keep: '1d' }, /rules.0.class/],
    [{ class: 'events', keep: '1y' }, /must be days/],
    [{ class: 'events', keep: '36500d' }, /not be more than 20000d/],
    [{ class: 'events', keep: '10d', cold: '10d' }, /not before keep/],
    [{ class: 'events', tenant: 'a', cold: '10d' }, /only all can move/],
    [{ class: 'events' }, /neither keep nor cold/],
  ])('%j is refused', (one, message) => {
    expect(() => rules(one)).toThrow(message);
  });

  test('two rules for the same are refused', () => {
    const one = { class: 'rollups', keep: '9d' };
    expect(() => rules(one, one)).toThrow(/two rules for rollups/);
  });

  test('the file that comes with it is right', () => {
    const file = new URL('../../../../deploy/clickhouse/retention.yaml', import.meta.url);
    expect(parseRetention(parse(readFileSync(file, 'utf8')))).toHaveLength(3);
  });
});
