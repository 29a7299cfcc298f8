/** Whether somebody gives what the expressions of a plan take. */

import type {
  PlanDefinition,
  TaskDefinition,
  Template,
} from '../../../schemas/definitions/plan.ts';
import { rootNamesOf } from '../expressions/root-names.ts';
import { expressionsOf } from '../expressions/template.ts';
import { nearest } from '../words/nearest.ts';
import type { Violation } from './problem.ts';

type Path = readonly (string | number)[];

/** What stands for an expression: `inputs` and `tasks` with their members, other names as they are. */
type Given = Readonly<{
  inputs: readonly string[];
  tasks: readonly string[];
  others: readonly string[];
}>;

/** Names that no input, need or pattern of the task gives. */
export function givenViolations(plan: PlanDefinition, task: TaskDefinition, path: Path) {
  const inputs = Object.keys(plan.inputs);
  const own = ['goal', 'inputs', 'context', 'tasks'];
  const more = task.fanOut === undefined ? [] : ['item', 'index', 'branch'];
  const rounds = task.review === undefined ? [] : ['round', 'remarks', 'previous'];
  const goals = task.loop?.wake.goalsOfKey === true ? ['goals'] : [];
  const loops = task.loop === undefined ? [] : ['iteration', 'previous', 'signal', ...goals];
  const given = { inputs, tasks: task.needs, others: [...own, ...more, ...rounds, ...loops] };
  const plain = { ...given, others: own };
  const { fanOut, review, loop } = task;
  const plus = (...names: string[]): Given => ({ ...plain, others: [...own, ...names] });
  const parts: [Template | undefined, Path, Given][] = [
    [task.input, ['input'], given],
    [fanOut?.over, ['fanOut', 'over'], plain],
    [fanOut?.substitute, ['fanOut', 'substitute'], plus('item', 'index', 'branch', 'failure')],
    ...(fanOut?.branches ?? []).map(({ input }, index): [Template | undefined, Path, Given] => [
      input,
      ['fanOut', 'branches', index, 'input'],
      given,
    ]),
    [review?.input, ['review', 'input'], plus('result', 'round')],
    [review && `=${review.accepted}`, ['review', 'accepted'], plus('review', 'result', 'round')],
    [review?.remarks, ['review', 'remarks'], plus('review', 'result', 'round')],
    [
      loop?.exit.when && `=${loop.exit.when}`,
      ['loop', 'exit', 'when'],
      plus('output', 'iteration'),
    ],
  ];
  return parts.flatMap(([template, at, names]) =>
    template === undefined ? [] : missingIn(template, [...path, ...at], names),
  );
}

/** The same for the shape of the output, which sees every task. */
export function shapeViolations({ inputs, tasks, planning, output }: PlanDefinition): Violation[] {
  const others = ['goal', 'inputs', 'context', 'tasks', 'joined', 'contradictions'];
  // Which tasks there will be is the model's to say.
  if (planning !== undefined && tasks.length === 0) return [];
  const given = { inputs: Object.keys(inputs), tasks: tasks.map(({ id }) => id), others };
  return output.shape === undefined ? [] : missingIn(output.shape, ['output', 'shape'], given);
}

function missingIn(template: Template, path: Path, given: Given): Violation[] {
  return [...expressionsOf(template, '', path)].flatMap((found) =>
    rootNamesOf(found.source).flatMap(({ first, second }) => {
      if (!given.others.includes(first)) return [unknown(first, found.path, given.others)];
      if (second === undefined || (first !== 'inputs' && first !== 'tasks')) return [];
      const members = first === 'inputs' ? given.inputs : given.tasks;
      return members.includes(second)
        ? []
        : [missing(first, second, { path: found.path, members })];
    }),
  );
}

function unknown(name: string, path: Path, known: readonly string[]): Violation {
  const meant = nearest(name, known);
  const hint = meant === undefined ? '' : `Did you mean "${meant}"? `;
  const reason = `Nobody gives "${name}" to this expression.`;
  return { path: [...path], reason, fix: `${hint}It sees ${known.join(', ')}.` };
}

function missing(
  first: 'inputs' | 'tasks',
  second: string,
  { path, members }: Readonly<{ path: Path; members: readonly string[] }>,
): Violation {
  const what =
    first === 'inputs'
      ? { reason: `The plan has no input "${second}".`, add: 'Declare it under inputs' }
      : { reason: `This task does not need "${second}".`, add: 'Add it to needs' };
  const meant = nearest(second, members);
  const hint = meant === undefined ? '' : `, or did you mean "${meant}"?`;
  return { path: [...path], reason: what.reason, fix: `${what.add}${hint || '.'}` };
}
