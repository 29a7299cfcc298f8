import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import { type ContentDraft, json, type SeenEvent, text } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { type Tried, triedIn } from '../chassis/effects/tried.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import { valueProblem } from '../chassis/value-problems.ts';
import { failed, type Move } from './move.ts';
import type { AgentEntry, Failure, Question, Recovery, ToolCallEntry, Verdict } from './state.ts';

/**
 * An attempt that an error policy has made: it goes on from what is recorded with new allowances, its model is told
 * what failed, and where nobody else is left a person says what becomes of it.
 */

/** Why an attempt is made; nothing where no error policy made it. */
export function recoveryIn(seen: SeenEvent<'task.scheduled'>): Pick<AgentEntry, 'recovery'> {
  const { recovery } = seen.data;
  return recovery === undefined ? {} : { recovery: { ...recovery, tried: triedIn(seen) } };
}

/** Steps that do not count against the agent's limit. */
export const stepsBefore = ({ recovery }: AgentEntry): number => recovery?.stepsBefore ?? 0;

/** A call that failed for good is made anew where the model is not told of it. */
function withoutFailures(
  { onError }: AgentDefinition,
  tools: readonly ToolCallEntry[],
): readonly ToolCallEntry[] {
  if (onError?.tools !== 'fail') return tools;
  const anew = ({ failure, effect }: ToolCallEntry): boolean =>
    failure !== undefined && effect !== 'at-most-once';
  return tools.map((one) => (anew(one) ? { call: '', step: one.step, tool: one.tool } : one));
}

/** The agent that goes on, without what stopped the one before: its limits count from here. */
export function renewed(
  definition: AgentDefinition,
  entry: AgentEntry,
  recovery: Recovery,
): AgentEntry {
  const { repeats: _r, repeatsBefore: _b, repairs: _c, fallback: _f, ...kept } = entry;
  const { finishReason: _why, ...model } = kept.model;
  const tools = definition.kind === 'model' ? withoutFailures(definition, kept.tools) : kept.tools;
  return { ...kept, model, tools, recovery: { ...recovery, stepsBefore: kept.usage.steps } };
}

/** The agent once its model has answered. */
export const recovered = ({ recovery }: AgentEntry): Pick<AgentEntry, 'recovery'> =>
  recovery === undefined || recovery.told === true ? {} : { recovery: { ...recovery, told: true } };

const saidOf = ({ attempt, agent, model, code, class: kind, message }: Tried): string => {
  const by = model === undefined ? `"${agent}"` : `"${agent}" with the model "${model}"`;
  return `attempt ${attempt} by ${by}: ${code} (${kind}): ${message}`;
};

const listed = (tried: readonly Tried[]): string =>
  tried.map((one) => `- ${saidOf(one)}`).join('\n');

/** What the model is told of the attempts before; undefined where there is nothing, or it was told. */
export function noteOf({ recovery, continues }: AgentEntry): string | undefined {
  if (recovery === undefined || recovery.told === true || recovery.tried.length === 0)
    return undefined;
  const { verdict, tried } = recovery;
  const goesOn = continues === undefined ? '' : ' You go on from what was recorded.';
  const reason = verdict?.reason === undefined ? '' : ` A person says: ${verdict.reason}`;
  return (
    `This task was tried before and failed:\n${listed(tried)}\n` +
    `Do not do again what led there; find another way to the same end.${goesOn}${reason}`
  );
}

function questionOf({ name }: AgentDefinition, { tried, mayRetry }: Recovery): string {
  const retry = mayRetry === true ? 'Approve to have it tried again, reject' : 'Reject';
  const why =
    mayRetry === true
      ? ''
      : ' It cannot be tried again, because it made a call that must not be made twice.';
  return (
    `Agent "${name}" cannot go on:\n${listed(tried)}\n` +
    `${retry} to give the task up, or answer with what its output shall be.${why}`
  );
}

/** What a person decided about a failure. */
export function withVerdict(
  { recovery }: AgentEntry,
  { reply }: Question,
  seen: SeenEvent<'person.settled'>,
): Pick<AgentEntry, 'recovery'> {
  if (recovery === undefined) return {};
  return { recovery: { ...recovery, verdict: verdictOf(reply, seen) } };
}

function verdictOf(reply: Question['reply'], { data }: SeenEvent<'person.settled'>): Verdict {
  if (data.outcome !== 'answered' || reply === undefined) return { what: 'nobody' };
  const { decision, answeredBy: by, answer, reason } = reply;
  const what = { granted: 'retry', denied: 'give-up', answered: 'answer' } as const;
  const why = reason === undefined ? {} : { reason };
  return { what: what[decision], by, answer, ...why };
}

function givenUp(code: string, message: string): Move {
  return failed({ code, class: 'denied', retryable: false, message });
}

/** The output that a person gave, as the agent's template wants it. */
function answeredWith(definition: AgentDefinition, { answer = null, by = '' }: Verdict): Move {
  if (definition.kind === 'procedure') return { kind: 'complete', output: json(answer) };
  const { output, outputSchema } = definition;
  if (output === 'text') return { kind: 'complete', output: asText(answer) };
  const problem =
    outputSchema === undefined ? undefined : valueProblem(outputSchema, answer, 'the answer');
  if (problem === undefined) return { kind: 'complete', output: json(answer) };
  const said = problem.kind === 'schema' ? problem.message : problem.problems.join('; ');
  const failure: Failure = {
    code: 'ANSWER_INVALID',
    class: 'invalid-output',
    retryable: false,
    message: `What ${by} answered does not fit the output schema of agent "${definition.name}": ${said}.`,
  };
  return failed(failure);
}

const asText = (answer: JsonValue): ContentDraft =>
  text(typeof answer === 'string' ? answer : canonical(answer));

/** What an agent does for which a person has to decide; undefined where it simply works. */
export function recoveryMove(
  definition: AgentDefinition,
  { recovery }: AgentEntry,
): Move | undefined {
  if (recovery?.step !== 'escalate') return undefined;
  const { verdict, mayRetry, tried } = recovery;
  if (verdict === undefined)
    return { kind: 'ask-person', about: 'failure', question: questionOf(definition, recovery) };
  const last = tried.at(-1)?.message ?? '';
  switch (verdict.what) {
    case 'answer':
      return answeredWith(definition, verdict);
    case 'retry':
      if (mayRetry === true) return undefined;
      return givenUp('GIVEN_UP', `${verdict.by} wants it tried again, which it cannot be. ${last}`);
    case 'give-up':
      return givenUp('GIVEN_UP', `${verdict.by} gave the task up. The last failure: ${last}`);
    case 'nobody':
      return givenUp('NOBODY_DECIDED', `Nobody decided in time. The last failure: ${last}`);
  }
}
