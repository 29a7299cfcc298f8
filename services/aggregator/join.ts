/**
 * Joins the outputs of tasks into one value, and says where tasks contradict each other. Knows no
 * session.
 */

import type { PlanOutput, Vote } from '../../schemas/definitions/plan.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../chassis/errors.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import { canonical } from '../chassis/protocol/hash.ts';

/** The output of a task that completed, or undefined for one that did not. */
export type TaskOutput = Readonly<{ id: string; output: JsonValue | undefined }>;

/** One member that tasks gave different values for, with the tasks that said each. */
export type Contradiction = Readonly<{
  member: string;
  values: readonly Readonly<{ value: JsonValue; tasks: readonly string[] }>[];
}>;

export type Joined = Readonly<{ value: JsonValue; contradictions: readonly Contradiction[] }>;

/**
 * Joins by the plan's rule. Throws LongreinError OUTPUT_NOT_MERGEABLE if a task to merge gave no
 * object, and OUTPUT_CONFLICT if tasks contradict each other and the rule is `fail`, OUTPUT_NO_QUORUM if a vote has none.
 */
export function joinOutputs(output: PlanOutput, tasks: readonly TaskOutput[]): Joined {
  const chosen = chooseTasks(output, tasks);
  if (output.kind === 'vote') return countVotes(output.vote ?? { quorum: 1 }, chosen);
  if (output.kind !== 'merge') {
    const members = chosen.map((task): [string, JsonValue] => [task.id, task.output ?? null]);
    return { value: Object.fromEntries(members), contradictions: [] };
  }
  const statements = statementsOf(chosen);
  const contradictions = statements
    .filter(({ values }) => values.length > 1)
    .map(({ member, values }) => ({ member, values }));
  const ruleOf = (member: string) => ownRule(output, member) ?? output.conflict;
  const forbidden = contradictions.filter(({ member }) => ruleOf(member) === 'fail');
  if (forbidden.length > 0) throw conflict(forbidden);
  const merged = statements.map((one): [string, JsonValue] => [
    one.member,
    settle(ruleOf(one.member), one),
  ]);
  return { value: Object.fromEntries(merged), contradictions };
}

const ownRule = ({ conflicts = {} }: PlanOutput, member: string) =>
  Object.hasOwn(conflicts, member) ? conflicts[member] : undefined;

/** What most tasks say, if it is a quorum; who said something else is named. */
function countVotes({ of, quorum }: Vote, tasks: readonly TaskOutput[]): Joined {
  const said: Said = new Map();
  for (const { id, output } of tasks) {
    if (output === undefined) continue;
    const value = of === undefined ? output : votedIn(of, id, output);
    const key = canonical(value);
    const known = said.get(key) ?? { value, tasks: [] };
    known.tasks.push(id);
    said.set(key, known);
  }
  const values = [...said.values()];
  const contradictions = values.length > 1 ? [{ member: 'vote', values }] : [];
  // The first to be said among equals; equals are no quorum but where it is small.
  const best = [...values].sort((one, other) => other.tasks.length - one.tasks.length)[0];
  if (best !== undefined && best.tasks.length >= quorum)
    return { value: best.value, contradictions };
  const sides = values.map((one) => `${shorten(one.value)} (${one.tasks.join(', ')})`).join('; ');
  const message = `No ${quorum} tasks say the same: ${sides === '' ? 'none said anything' : sides}.`;
  throw new LongreinError('OUTPUT_NO_QUORUM', message, {
    fix: 'Let more tasks vote, or lower the quorum.',
  });
}

const votedIn = (of: string, task: string, output: JsonValue): JsonValue =>
  compileTemplate(`=${of}`, `output.vote.of, task ${task}`).evaluate({ output });

function chooseTasks(output: PlanOutput, tasks: readonly TaskOutput[]): readonly TaskOutput[] {
  if (output.tasks === undefined) return tasks;
  const known = new Map(tasks.map((task) => [task.id, task]));
  return output.tasks.map((id) => known.get(id) ?? { id, output: undefined });
}

/** All that was said of one member: different values in the order in which they were first said. */
type Statement = Contradiction & Readonly<{ last: JsonValue }>;

type Said = Map<string, { value: JsonValue; tasks: string[] }>;

function statementsOf(tasks: readonly TaskOutput[]): readonly Statement[] {
  const said = new Map<string, { values: Said; last: JsonValue }>();
  for (const task of tasks) {
    if (task.output === undefined) continue;
    for (const [member, value] of Object.entries(objectOf(task.id, task.output))) {
      const values: Said = said.get(member)?.values ?? new Map();
      const key = canonical(value);
      const known = values.get(key) ?? { value, tasks: [] };
      known.tasks.push(task.id);
      said.set(member, { values: values.set(key, known), last: value });
    }
  }
  return [...said].map(([member, { values, last }]) => ({
    member,
    values: [...values.values()],
    last,
  }));
}

function objectOf(task: string, output: JsonValue): JsonObject {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) {
    return output as JsonObject;
  }
  const message = `Task "${task}" gave no object, and only objects can be merged.`;
  const fix = `Let it give an object, leave it out of output.tasks, or use the kind collect.`;
  throw new LongreinError('OUTPUT_NOT_MERGEABLE', message, { fix });
}

function settle(rule: PlanOutput['conflict'], { values, last }: Statement): JsonValue {
  if (rule === 'last') return last;
  const all = values.map((one) => one.value);
  return rule === 'list' && all.length > 1 ? all : (all[0] ?? null);
}

function conflict(contradictions: readonly Contradiction[]): LongreinError {
  const places = contradictions.map(({ member, values }) => {
    const sides = values.map(({ value, tasks }) => `${tasks.join(', ')}: ${shorten(value)}`);
    return `"${member}" (${sides.join(' / ')})`;
  });
  const message = `The tasks contradict each other in ${places.join('; ')}.`;
  const fix = 'Choose the conflict rule first, last or list, or let the tasks agree.';
  return new LongreinError('OUTPUT_CONFLICT', message, { fix });
}

function shorten(value: JsonValue): string {
  const full = canonical(value);
  return full.length > 80 ? `${full.slice(0, 79)}…` : full;
}
