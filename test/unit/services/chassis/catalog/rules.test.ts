import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findCycle } from '../../../../../services/chassis/catalog/cycle.ts';
import { loadCatalog } from '../../../../../services/chassis/catalog/load.ts';
import { validatePlan } from '../../../../../services/chassis/catalog/rules.ts';
import { catalogDirectory, soundFiles } from '../../../../support/catalog-directory.ts';

describe('a cycle', () => {
  test('is found only where there is one, and names tasks that do wait for one another', () => {
    const graphs = fc.array(fc.array(fc.nat(9), { maxLength: 3 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(graphs, (graph) => {
        const needs = new Map(graph.map((others, index) => [`${index}`, others.map(String)]));
        const cycle = findCycle(needs);
        if (cycle === undefined) return canBeOrdered(needs);
        const steps = cycle
          .slice(1)
          .map((next, index) => needs.get(cycle[index] ?? '')?.includes(next));
        return cycle.length > 1 && cycle[0] === cycle.at(-1) && steps.every(Boolean);
      }),
    );
  });

  test('names only the tasks of the circle, not those that wait for it', () => {
    const needs = new Map([
      ['outside', ['a']],
      ['a', ['b']],
      ['b', ['a', 'free']],
      ['free', []],
    ]);
    expect(findCycle(needs)).toEqual(['a', 'b', 'a']);
  });
});

describe('the rules of a plan', () => {
  test('give every violation with its path, from names alone', () => {
    const { catalog } = loadCatalog([catalogDirectory(soundFiles)]);
    const plan = catalog.plan('pair');
    if (plan === undefined) throw new Error('no plan');
    expect(validatePlan(plan, catalog.names)).toEqual([]);
    const nothing = { pools: [], agents: [], tools: [], models: [], mcpServers: [] };
    expect(validatePlan(plan, nothing).map(({ path }) => path.join('.'))).toEqual([
      'tasks.0.pool',
      'tasks.0.agent',
      'tasks.1.pool',
      'tasks.1.agent',
    ]);
  });
});

function canBeOrdered(needs: ReadonlyMap<string, readonly string[]>): boolean {
  const state = new Map<string, 'open' | 'done'>();
  const visit = (name: string): boolean => {
    if (state.get(name) === 'open') return false;
    if (state.get(name) === 'done' || !needs.has(name)) return true;
    state.set(name, 'open');
    const good = (needs.get(name) ?? []).every(visit);
    state.set(name, 'done');
    return good;
  };
  return [...needs.keys()].every(visit);
}
