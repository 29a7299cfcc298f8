/**
 * The fold of a procedure's requests for vectors: a step like others, whose answer comes from a model. It stands among
 * the calls of the procedure, so results, failures and further attempts are as those of tools.
 */

import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { modelFailureOf } from './failures.ts';
import type { AgentEntry } from './state.ts';
import { spent } from './usage.ts';

type Part = Partial<AgentEntry>;
type Ended = SeenEvent<'model.completed' | 'model.failed' | 'model.denied'>;

/** The agent after it asked for vectors. */
export function askedEmbedding(entry: AgentEntry, seen: SeenEvent<'model.requested'>): Part {
  const { tools, calls, usage } = entry;
  const { call, step } = seen.data;
  const steps = Math.max(usage.steps, step);
  return {
    tools: [...tools, { call, step, tool: 'embed' }],
    calls: calls + 1,
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

/** The agent after such a call ended. */
export function endedEmbedding({ tools, usage }: AgentEntry, seen: Ended): Part {
  const end =
    seen.type === 'model.completed' ? { result: resultOf(seen) } : { failure: failureFrom(seen) };
  return {
    tools: tools.map((one) => (one.call === seen.data.call ? { ...one, ...end } : one)),
    usage: seen.type === 'model.denied' ? usage : spent(usage, seen),
  };
}

function failureFrom(seen: SeenEvent<'model.failed' | 'model.denied'>) {
  const { code, class: kind, retryable, message } = modelFailureOf(seen);
  return { code, class: kind, retryable, message };
}
