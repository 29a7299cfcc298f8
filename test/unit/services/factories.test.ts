import { expect, test } from 'vitest';
import { factoriesOf, serviceNames } from '../../../services/main.ts';

const here = { pools: ['files', 'analysis'], clickhouse: true };

test('all is every service, each pool by itself', () => {
  expect(factoriesOf(['all'], here)).toHaveLength(serviceNames.length - 1 + here.pools.length);
});

test('without a ClickHouse, all leaves the event store out; by name it is there', () => {
  const without = { ...here, clickhouse: false };
  expect(factoriesOf(['all'], without)).toHaveLength(factoriesOf(['all'], here).length - 1);
  expect(factoriesOf(['event-store'], without)).toHaveLength(1);
});

test('a name twice is one service', () => {
  expect(factoriesOf(['planner', 'planner'], here)).toHaveLength(1);
});

test('unknown services and pools are refused with the names that there are', () => {
  expect(() => factoriesOf(['plannner'], here)).toThrow(/no service "plannner"/);
  expect(() => factoriesOf(['worker-pool:nowhere'], here)).toThrow(/no pool "nowhere"/);
});
