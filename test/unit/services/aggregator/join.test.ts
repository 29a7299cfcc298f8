import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlanOutput } from '../../../../schemas/definitions/plan.ts';
import { joinOutputs, type TaskOutput } from '../../../../services/aggregator/join.ts';

const merge = (conflict: PlanOutput['conflict']): PlanOutput => ({ kind: 'merge', conflict });

const tasks: readonly TaskOutput[] = [
  { id: 'a', output: { same: 1, size: 10 } },
  { id: 'b', output: { same: 1, size: 20, only: true } },
  { id: 'lost', output: undefined },
  { id: 'c', output: { size: 10 } },
];

const contradiction = {
  member: 'size',
  values: [
    { value: 10, tasks: ['a', 'c'] },
    { value: 20, tasks: ['b'] },
  ],
};

describe('joining outputs', () => {
  it('collects one member per task, null where a task did not complete', () => {
    const some: readonly TaskOutput[] = [
      { id: 'a', output: 'text' },
      { id: 'b', output: undefined },
    ];
    expect(joinOutputs({ kind: 'collect', conflict: 'fail' }, some)).toEqual({
      value: { a: 'text', b: null },
      contradictions: [],
    });
  });

  it('takes only the tasks that the plan lists, in that order', () => {
    const { value } = joinOutputs({ kind: 'collect', conflict: 'fail', tasks: ['c', 'a'] }, tasks);
    expect(Object.keys(value as object)).toEqual(['c', 'a']);
  });

  it('merges objects by the conflict rule and reports who said what', () => {
    for (const [rule, size] of [
      ['first', 10],
      ['last', 10],
      ['list', [10, 20]],
    ] as const) {
      const { value, contradictions } = joinOutputs(merge(rule), tasks);
      expect(value, rule).toEqual({ same: 1, size, only: true });
      expect(contradictions).toEqual([contradiction]);
    }
  });

  it('refuses contradictions under the rule fail, and names members and tasks', () => {
    const join = () => joinOutputs(merge('fail'), tasks);
    expect(join).toThrow('"size" (a, c: 10 / b: 20)');
    expect(joinOutputs(merge('fail'), tasks.slice(1, 3)).contradictions).toEqual([]);
  });

  it('refuses to merge what is no object, and names the task', () => {
    const join = () => joinOutputs(merge('first'), [{ id: 'a', output: [1] }]);
    expect(join).toThrow('Task "a" gave no object');
  });

  it('sees no contradiction in the same value written in another order', () => {
    const { contradictions } = joinOutputs(merge('fail'), [
      { id: 'a', output: { x: { p: 1, q: 2 } } },
      { id: 'b', output: { x: { q: 2, p: 1 } } },
    ]);
    expect(contradictions).toEqual([]);
  });

  it('loses no member and invents none, whatever its name', () => {
    const names = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'a'), fc.string());
    const outputs = fc.array(fc.dictionary(names, fc.nat(3)), { maxLength: 4 });
    fc.assert(
      fc.property(outputs, fc.constantFrom('first', 'last', 'list'), (objects, rule) => {
        const all = objects.map((output, index) => ({ id: `t${index}`, output }));
        const { value } = joinOutputs(merge(rule), all);
        const members = new Set(objects.flatMap((output) => Object.keys(output)));
        expect(new Set(Object.keys(value as object))).toEqual(members);
      }),
    );
  });
});
