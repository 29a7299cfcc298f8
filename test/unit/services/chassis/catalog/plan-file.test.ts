import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkPlanFile } from '../../../../../services/chassis/catalog/plan-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'longrein-plan-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const names = {
  pools: ['writing', 'analysis'],
  agents: ['writer', 'editor'],
  tools: ['files.read'],
  models: [],
  mcpServers: [],
};

/** What is wrong with a plan of these tasks, as `line: reason`. */
function wrong(tasks: string, rest = ''): string[] {
  const file = join(directory, 'plan.yaml');
  const head =
    'name: p\nversion: 1.0.0\ndescription: A plan.\ninputs: { path: { type: string } }\n';
  writeFileSync(file, `${head}tasks:\n${tasks}${rest}`);
  return checkPlanFile(file, names).problems.map(
    ({ line, reason, fix }) => `${line}: ${reason} ${fix}`,
  );
}

const task = (id: string, more: string): string =>
  `  - { id: ${id}, pool: writing, agent: writer, ${more} }\n`;

describe('the check of a plan file', () => {
  it('says nothing of a plan that can run', () => {
    const fanOut = 'fanOut: { over: =inputs.path, until: quorum, quorum: 2 }, input: =item';
    const review =
      'review: { pool: analysis, agent: editor }, needs: [a], input: =tasks.a & remarks';
    const loop = 'loop: { wake: { everyMs: 5 }, exit: { when: "output.ok" } }, input: =previous';
    expect(wrong(task('a', fanOut) + task('b', review) + task('c', loop))).toEqual([]);
  });

  it.each([
    ['a cycle', 'needs: [a]', '6: These tasks wait for one another: a -> a.'],
    ['a loop without exit', 'loop: { wake: { everyMs: 5 } }', '6: This loop has no exit'],
    [
      'a fan-out above the limit',
      'fanOut: { over: =inputs.path, itemsMax: 2000 }',
      '6: A fan-out of 2000 branches is above the limit of 1000.',
    ],
    [
      'a fan-out of nothing',
      'fanOut: { until: first }',
      '6: A fan-out needs one of over and branches.',
    ],
    [
      'a quorum that cannot be',
      'fanOut: { branches: [{ id: x }], until: quorum, quorum: 2 }',
      '6: A quorum of 2 cannot be reached by 1 branches.',
    ],
    [
      'an unknown agent of a branch',
      'fanOut: { branches: [{ id: x, agent: writr }] }',
      '6: There is no agent "writr". Did you mean "writer"?',
    ],
    [
      'an unknown reviewer',
      'review: { pool: nowhere, agent: editor }',
      '6: There is no pool "nowhere".',
    ],
    [
      'two patterns',
      'review: { pool: analysis, agent: editor }, fanOut: { over: [1] }',
      '6: A task has one of fanOut, review and loop',
    ],
    [
      'an input that nobody gives',
      'input: =inputs.pth',
      '6: The plan has no input "pth". Declare it under inputs, or did you mean "path"?',
    ],
    [
      'a task that is not needed',
      'input: =tasks.b.n',
      '6: This task does not need "b". Add it to needs.',
    ],
    [
      'a name that nobody gives',
      'input: =item.n',
      '6: Nobody gives "item" to this expression. It sees goal, inputs, context, tasks.',
    ],
    ['a mistake in a condition', 'loop: { exit: { when: "a +" } }', '6: Expression in'],
  ])('finds %s', (_, more, expected) => {
    const found = wrong(task('a', more));
    expect(
      found.some((one) => one.startsWith(expected)),
      found.join('\n'),
    ).toBe(true);
  });

  it('lets goals of the key wake one loop, which sees them', () => {
    const loop = 'loop: { wake: { goalsOfKey: true }, exit: { deadlineMs: 5 } }, input: =goals';
    expect(wrong(task('a', loop))).toEqual([]);
    const [first = '', ...more] = wrong(task('a', loop) + task('b', loop));
    expect(more).toEqual([]);
    expect(first).toMatch(/^7: Goals of the key wake another loop of this plan already/);
    const blind = wrong(task('a', loop.replace('goalsOfKey: true', 'everyMs: 5')));
    expect(blind).toEqual([expect.stringContaining('Nobody gives "goals"')]);
  });

  it('finds what the shape of the output takes from nowhere', () => {
    const found = wrong(task('a', 'priority: 1'), 'output: { kind: collect, shape: =tasks.c }\n');
    expect(found).toEqual([expect.stringContaining('7: This task does not need "c"')]);
  });

  it('looks at the beginning of paths only: what a predicate sees is not known', () => {
    const input = "'=inputs.path[it = other].n ~> $map(function($v) { $v.x })'";
    expect(wrong(task('a', `input: ${input}`))).toEqual([]);
  });
});
