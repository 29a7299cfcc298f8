import { afterEach, describe, expect, it } from 'vitest';
import type { GoalRule } from '../../../../../schemas/definitions/goal-rule.ts';
import { type RuledGoal, rulingOf } from '../../../../../services/chassis/catalog/goal-rules.ts';
import { loadCatalog } from '../../../../../services/chassis/catalog/load.ts';
import { temporaryCatalog } from '../../../../support/document-files.ts';

const goal = (more: Partial<RuledGoal> = {}): RuledGoal => ({
  ...{ tenant: 'acme', labels: {}, priority: 'normal' },
  ...more,
});

const rules: readonly GoalRule[] = [
  { name: 'reports', when: { categories: ['report'], tenants: ['acme'] }, lane: 'bulk' },
  { name: 'pay', when: { labels: { team: 'payments' } }, lane: 'high', pools: ['fast', 'main'] },
  { name: 'audits', when: { plans: ['audit'] }, pools: ['main'] },
];

describe('the rule of a goal', () => {
  it('is the first that fits, with all of its conditions', () => {
    const labels = { category: 'report', team: 'payments' };
    expect(rulingOf(rules, goal({ labels }))).toEqual({ priority: 'bulk', rule: 'reports' });
    expect(rulingOf(rules, goal({ labels, tenant: 'bolt' }))).toEqual({
      ...{ priority: 'high', rule: 'pay', agentPools: ['fast', 'main'] },
    });
  });

  it('leaves a goal as it is where none fits', () => {
    expect(rulingOf(rules, goal({ agentPools: ['x'], priority: 'high' }))).toEqual({
      ...{ priority: 'high', agentPools: ['x'] },
    });
    expect(rulingOf(rules, goal({ labels: { toString: 'x' } }))).toEqual({ priority: 'normal' });
  });

  it('never widens what the goal allows, and keeps its priority where the rule has no lane', () => {
    const asked = goal({ plan: 'audit', agentPools: ['other', 'main'], priority: 'high' });
    expect(rulingOf(rules, asked)).toEqual({
      ...{ priority: 'high', agentPools: ['main'], rule: 'audits' },
    });
    expect(rulingOf(rules, { ...asked, agentPools: ['other'] }).agentPools).toEqual([]);
  });
});

describe('rules.yaml', () => {
  let remove = (): void => undefined;
  afterEach(() => remove());

  it('is refused with file, line and reason where it has not the shape', () => {
    const directory = temporaryCatalog({
      'pools.yaml': '- { name: main, description: One. }\n',
      'rules.yaml': `- name: first
  when: { plans: [nowhere] }
  pools:
    - mian
- name: second
  when: { categories: [] }
  lane: slow
`,
    });
    remove = directory.remove;
    const { problems } = loadCatalog([directory.path]);
    const told = problems.map(({ line, reason }) => `${line}: ${reason}`);
    expect(told).toContain('7: "lane" has an unknown value.');
    expect(told.some((one) => one.startsWith('6: "categories"'))).toBe(true);
    expect(problems.every(({ file }) => file.endsWith('rules.yaml'))).toBe(true);
  });

  it('may name plans and pools that are there only, and must say something', () => {
    const directory = temporaryCatalog({
      'pools.yaml': '- { name: main, description: One. }\n',
      'rules.yaml':
        '- name: first\n  when: { plans: [nowhere] }\n  pools:\n    - mian\n- name: idle\n  when: {}\n',
    });
    remove = directory.remove;
    const told = loadCatalog([directory.path]).problems.map(
      ({ line, reason, fix }) => `${line}: ${reason} ${fix}`,
    );
    expect(told).toHaveLength(3);
    expect(told[0]).toMatch(/^2: .*plan "nowhere"/);
    expect(told[2]).toMatch(/^5: .*"idle" gives a goal neither/);
    expect(told[1]).toMatch(/^4: .*pool "mian".*main/);
  });
});
