import { describe, expect, it } from 'vitest';
import type { PinnedCatalog } from '../../../../schemas/definitions/catalog.ts';
import { bodyOf, type DataOf, event, type SeenEvent, text } from '../../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import type { PlanViolation } from '../../../../services/chassis/catalog/plan-violation.ts';
import { hashOf } from '../../../../services/chassis/protocol/hash.ts';
import { problemOfDraft } from '../../../../services/chassis/protocol/validate.ts';
import { needsPlan, type PlannerFacts, plannerLogic } from '../../../../services/planner/decide.ts';
import type { PlannerState } from '../../../../services/planner/state.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { aCatalog, aPlan, aTask, opened, readTool } from '../../../support/plan-fixtures.ts';

const facts: PlannerFacts = { plans: ['audit', 'brief'], pools: ['main', 'bulk'], problems: [] };

function benchWith(catalog: PinnedCatalog | undefined, changes: Partial<PlannerFacts> = {}) {
  const attachments: Record<string, JsonValue> =
    catalog === undefined ? {} : { catalog: catalog as unknown as JsonValue };
  const gather = () => ({ facts: { ...facts, ...changes } as JsonObject, attachments });
  return new BenchSession([{ logic: plannerLogic, facts: gather }]);
}

const plan = aPlan([aTask('read'), aTask('sum', { needs: ['read'] })]);

function decided(
  catalog: PinnedCatalog | undefined,
  goal: Partial<DataOf<'session.opened'>> = {},
  inputs: JsonObject = {},
): readonly SeenEvent[] {
  const bench = benchWith(catalog);
  bench.input(opened(goal, { inputs }));
  for (const draft of bench.propose('planner')) expect(problemOfDraft(draft)).toBeUndefined();
  return bench.settle();
}

function violationsOf(events: readonly SeenEvent[]): readonly PlanViolation[] {
  const rejected = events.find((one) => one.type === 'plan.rejected');
  return bodyOf(rejected?.content.violations, []) as unknown as readonly PlanViolation[];
}

describe('the planner', () => {
  it('proposes and accepts the plan that the goal names, and pins the catalog', () => {
    const catalog = aCatalog(plan);
    const [proposed, accepted] = decided(catalog);
    expect(proposed).toMatchObject({
      type: 'plan.proposed',
      data: { plan: 'audit', origin: 'template' },
    });
    expect(accepted).toMatchObject({
      type: 'plan.accepted',
      data: {
        plan: 'audit',
        digest: hashOf(catalog),
        tasks: [
          { id: 'read', needs: [] },
          { id: 'sum', needs: ['read'], pool: 'main', agent: 'worker' },
        ],
      },
    });
    if (accepted?.type !== 'plan.accepted') throw new Error('not accepted');
    expect(bodyOf(accepted.content.catalog)).toEqual(catalog);
    expect(bodyOf(accepted.content.plan)).toEqual(plan);
  });

  it('needs the plan that the goal names, or the default one, until it decided', () => {
    const bench = benchWith(aCatalog(plan));
    const need = () => needsPlan(bench.state<PlannerState>('planner'));
    expect(need()).toBeUndefined();
    const { plan: _none, ...data } = opened().data;
    bench.input({ ...opened(), data });
    expect(need()).toBe('default');
    bench.settle();
    expect(need()).toBeUndefined();
  });

  it('rejects a plan that does not exist, and names those that do', () => {
    const events = decided(undefined, { plan: 'nothing' });
    expect(events.map((one) => one.type)).toEqual(['plan.rejected']);
    expect(events[0]?.data).toEqual({ plan: 'nothing', code: 'PLAN_UNKNOWN', violations: 1 });
    expect(violationsOf(events)[0]?.fix).toBe('Name one of: audit, brief.');
  });

  it('rejects a plan whose files have problems with these problems', () => {
    const problem = {
      where: 'plans/audit.yaml:3:1',
      reason: 'There is a cycle.',
      fix: 'Break it.',
    };
    const bench = benchWith(undefined, { problems: [problem] });
    bench.input(opened());
    const events = bench.settle();
    expect(events[0]?.data).toMatchObject({ code: 'PLAN_INVALID' });
    expect(violationsOf(events)).toEqual([problem]);
  });

  it('rejects a plan with a cycle after proposing it', () => {
    const cyclic = aPlan([aTask('a', { needs: ['b'] }), aTask('b', { needs: ['a'] })]);
    const events = decided(aCatalog(cyclic));
    expect(events.map((one) => one.type)).toEqual(['plan.proposed', 'plan.rejected']);
    expect(violationsOf(events)[0]?.reason).toContain('a -> b');
  });

  it('rejects a task in a pool that nobody serves', () => {
    const events = decided(aCatalog(aPlan([aTask('read', { pool: 'far' })])));
    expect(violationsOf(events)).toMatchObject([{ where: 'tasks[0].pool' }]);
  });

  it('rejects a task in a pool that the goal does not allow', () => {
    const events = decided(aCatalog(plan), { agentPools: ['bulk'] });
    expect(violationsOf(events).map(({ where }) => where)).toEqual([
      'tasks[0].pool',
      'tasks[1].pool',
    ]);
    expect(violationsOf(events)[0]?.reason).toContain('the goal allows bulk');
  });

  it('rejects a step with a tool above the risk that the goal allows', () => {
    const base = aCatalog(plan);
    const risky = { ...base, tools: { read: { ...readTool, risk: 'high' as const } } };
    expect(violationsOf(decided(risky, { riskMax: 'medium' }))).toMatchObject([
      { where: 'tasks[0].agent' },
      { where: 'tasks[1].agent' },
    ]);
    expect(violationsOf(decided(risky, { riskMax: 'high' }))).toEqual([]);
  });

  it('rejects a goal that misses an input of the plan', () => {
    const inputs = { path: { type: 'string' as const, required: true } };
    const catalog = aCatalog(aPlan([aTask('read')], { inputs }));
    expect(violationsOf(decided(catalog))).toMatchObject([{ where: 'inputs.path' }]);
    expect(violationsOf(decided(catalog, {}, { path: 'lock.json' }))).toEqual([]);
  });

  it('decides nothing for a session that is to be cancelled or that failed', () => {
    const bench = benchWith(aCatalog(plan));
    bench.input(opened());
    bench.input(event('session.cancel-requested', { requestedBy: 'user:ada' }));
    expect(bench.propose('planner')).toEqual([]);
    const other = benchWith(aCatalog(plan));
    other.input(opened());
    const message = { message: text('boom') };
    other.append([event('session.failed', { code: 'X' }, message)], 'supervisor');
    expect(other.propose('planner')).toEqual([]);
  });

  it('keeps nothing of the goal once there is a plan', () => {
    const bench = benchWith(aCatalog(plan));
    bench.input(opened());
    bench.settle();
    expect(bench.state<PlannerState>('planner').request).toBeNull();
  });
});
