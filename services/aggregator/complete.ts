/**
 * Ends a session whose tasks are all settled: with the joined output, or with the reason why there
 * is none.
 */

import { type Draft, event, json, text } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import { LongreinError } from '../chassis/errors.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import { type Joined, joinOutputs, type TaskOutput } from './join.ts';
import type { AggregatorState, JoinedTask } from './state.ts';
import { synthesisStep } from './synthesis.ts';

/**
 * Whether nothing of the plan is left to wait for, and nobody else has to say how the session ends.
 */
export function isComplete(state: AggregatorState): boolean {
  if (state.session.value !== 'running' || state.stopping) return false;
  return state.tasks.every(isDone);
}

/**
 * A task that the plan cannot do without and that was given up ends the session through the
 * supervisor.
 */
function isDone({ machine, onFailure }: JoinedTask): boolean {
  if (machine.value === 'abandoned') return onFailure === 'continue';
  return machine.value === 'completed' || machine.value === 'skipped';
}

/**
 * `session.completed`, or `session.failed` where the outputs cannot be joined or shaped; the question to a model that is
 * to write the answer; undefined while it does.
 */
export function completion(state: AggregatorState, session: string): Draft | undefined {
  try {
    const joined = join(state, session);
    if (joined === 'wait') return undefined;
    if ('ask' in joined) return joined.ask;
    const output = shape(state, joined);
    refuseTooLarge(output);
    return completed(state, joined, output);
  } catch (thrown) {
    if (!(thrown instanceof LongreinError) || !isJoinError(thrown)) throw thrown;
    const advice = thrown.fix === undefined ? '' : ` ${thrown.fix}`;
    const message = text(`${thrown.message}${advice}`);
    return event('session.failed', { code: failureCode(thrown) }, { message });
  }
}

function join(state: AggregatorState, session: string): Joined | 'wait' | Readonly<{ ask: Draft }> {
  const rule = state.output ?? { kind: 'collect', conflict: 'fail' };
  const joined = joinOutputs(rule, outputs(state));
  const { synthesis } = rule;
  if (rule.kind !== 'synthesis' || synthesis === undefined) return joined;
  const step = synthesisStep(state, session, { synthesis, collected: joined.value });
  return typeof step === 'object' && 'text' in step ? { ...joined, value: step.text } : step;
}

const isExpressionError = ({ code }: LongreinError): boolean => code.startsWith('EXPRESSION_');
const isJoinError = (error: LongreinError): boolean =>
  error.code.startsWith('OUTPUT_') || isExpressionError(error);
const failureCode = (error: LongreinError): string =>
  isExpressionError(error) ? 'OUTPUT_SHAPE' : error.code;

const outputs = (state: AggregatorState): readonly TaskOutput[] =>
  state.tasks.map(({ id, machine, output }) => ({
    id,
    output: machine.value === 'completed' ? output : undefined,
  }));

/** A result that no record of the results topic can hold is known before it is decided. */
function refuseTooLarge(output: JsonValue): void {
  const bytes = Buffer.byteLength(JSON.stringify(output), 'utf8');
  if (bytes <= limits.resultBytesMax) return;
  const message = `The output has ${bytes} bytes; a result holds at most ${limits.resultBytesMax}.`;
  const fix = 'Let the plan write it somewhere, and answer with its place or a summary.';
  throw new LongreinError('OUTPUT_TOO_LARGE', message, { fix });
}

function completed(state: AggregatorState, joined: Joined, output: JsonValue): Draft {
  const count = (value: string) =>
    state.tasks.filter((task) => task.machine.value === value).length;
  const data = {
    completed: count('completed'),
    failed: count('abandoned'),
    skipped: count('skipped'),
    contradictions: joined.contradictions.length,
  };
  const content = { output: json(output) };
  if (joined.contradictions.length === 0) return event('session.completed', data, content);
  const contradictions = json(joined.contradictions);
  return event('session.completed', data, { ...content, contradictions });
}

function shape(state: AggregatorState, joined: Joined): JsonValue {
  const template = state.output?.shape;
  if (template === undefined) return joined.value;
  const members = state.tasks.map(({ id, output }): [string, JsonValue] => [id, output]);
  const tasks: JsonObject = Object.fromEntries(members);
  const { goal, inputs, context } = state.scope ?? { goal: null, inputs: {}, context: {} };
  const { value, contradictions } = joined;
  const data = { goal, inputs, context, tasks, joined: value, contradictions };
  return compileTemplate(template, `plan ${state.plan}, output.shape`).evaluate(data);
}
