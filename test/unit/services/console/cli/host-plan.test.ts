import { describe, expect, it } from 'vitest';
import {
  plannedHosts,
  runningShape,
  surplusHosts,
} from '../../../../../services/console/cli/host-plan.ts';

const backing = ['clickhouse', 'broker', 'registry'];

describe('the hosts of a stack', () => {
  it('are one for all, or one for each service', () => {
    expect(plannedHosts('all', [])).toEqual([{ name: 'host', services: ['all'] }]);
    expect(plannedHosts('separate', ['intake', 'planner']).map(({ name }) => name)).toEqual([
      'intake',
      'planner',
    ]);
  });

  it('have a shape that is seen from the processes', () => {
    expect(runningShape(backing)).toBeUndefined();
    expect(runningShape([...backing, 'host'])).toBe('all');
    expect(runningShape([...backing, 'intake'])).toBe('separate');
  });

  it('of the other shape are surplus, backing services never', () => {
    const all = plannedHosts('all', []);
    expect(surplusHosts([...backing, 'intake', 'planner', 'host'], all)).toEqual([
      'intake',
      'planner',
    ]);
    const apart = plannedHosts('separate', ['intake']);
    expect(surplusHosts([...backing, 'intake', 'host'], apart)).toEqual(['host']);
  });
});
