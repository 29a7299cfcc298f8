/**
 * The fold of a procedure's requests for vectors: a step like others, whose answer comes from a model. It stands among
 * the calls of the procedure, so results, failures and further attempts are as those of tools.
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { modelFailureOf } from './failures.ts';
import type { AgentEntry, ToolCallEntry } from './state.ts';
import { spent } from './usage.ts';

type Part = Partial<AgentEntry>;
type Ended = SeenEvent<'model.completed' | 'model.failed' | 'model.denied'>;

/** The agent after it asked for vectors. */
export function askedEmbedding(entry: AgentEntry, seen: SeenEvent<'model.requested'>): Part {
  const { tools, calls, usage, model } = entry;
  const { call, step } = seen.data;
  const { retry, ...rest } = model;
  const steps = Math.max(usage.steps, step);
  return {
    tools: [...tools, { call, step, tool: 'embed' }],
    calls: calls + 1,
    // The wait is over.
    ...(retry === undefined ? {} : { model: rest }),
    usage: { ...usage, steps, modelCalls: usage.modelCalls + 1 },
  };
}

/** Whether this call of the agent is one for vectors. */
export const isEmbedding = ({ tools }: AgentEntry, call: string): boolean =>
  call !== '' && tools.some((one) => one.call === call);

/** What the expressions of later steps see. */
function resultOf({ data, content }: SeenEvent<'model.completed'>): JsonValue {
  const { provider, model, dimensions = 0 } = data;
  const vectors: JsonValue = Object(bodyOf(content.message)).vectors ?? [];
  return { model: `${provider}/${model}`, dimensions, vectors };
}

/** Whether the step of this call is tried again where its failure may pass. */
function isRepeated({ tools }: AgentEntry, call: string, definition: AgentDefinition | undefined) {
  const step = tools.find((one) => one.call === call)?.step ?? 0;
  if (definition?.kind !== 'procedure') return false;
  return definition.steps[step - 1]?.embed?.attemptsMax !== undefined;
}

/** The agent after such a call ended. */
export function endedEmbedding(
  entry: AgentEntry,
  seen: Ended,
  definition: AgentDefinition | undefined,
): Part {
  const { tools, usage } = entry;
  const end =
    seen.type === 'model.completed'
      ? { result: resultOf(seen) }
      : failureFrom(seen, isRepeated(entry, seen.data.call, definition));
  return {
    tools: tools.map((one) => (one.call === seen.data.call ? { ...one, ...end } : one)),
    usage: seen.type === 'model.denied' ? usage : spent(usage, seen),
  };
}

function failureFrom(
  seen: SeenEvent<'model.failed' | 'model.denied'>,
  repeated: boolean,
): Pick<ToolCallEntry, 'failure' | 'again'> {
  const { code, class: kind, retryable, message, retryAfterMs, address } = modelFailureOf(seen);
  const failure = { code, class: kind, retryable, message };
  return repeated ? { failure, again: { retryAfterMs, address } } : { failure };
}
