/** A request as the agent's context policy lets it out: whole, with something left out, or a summary first. */

import type { ContextPolicy, ModelAgent } from '../../schemas/definitions/agent.ts';
import { chooseWindow, noteOf, type Window } from './context-window.ts';
import { stopped } from './model-limits.ts';
import type { ModelRequest, Move } from './move.ts';
import type { AgentEntry } from './state.ts';

/** Needed is what the request comes to at least. */
function tooLong(
  definition: ModelAgent,
  entry: AgentEntry,
  { tokensMax, overflow, keepSteps }: ContextPolicy,
  needed: number,
): Move {
  const kept =
    overflow === 'fail'
      ? 'and its context policy leaves nothing out'
      : `without older steps (the newest ${keepSteps} and pinned ones always stay)`;
  const message =
    `The conversation of agent "${definition.name}" comes to about ${needed} tokens ${kept}; ` +
    `its limit is ${tokensMax} (context.tokensMax). Raise it, keep or pin less, or let tools answer with less.`;
  return stopped(definition, entry, { code: 'CONTEXT_LIMIT', class: 'context-too-long', message });
}

const sameSteps = (one: readonly number[], other: readonly number[]): boolean =>
  one.length === other.length && one.every((step, index) => step === other[index]);

function withoutSteps(
  policy: ContextPolicy,
  entry: AgentEntry,
  { request, window }: { request: ModelRequest; window: Window },
): Move {
  const { omit, tokens } = window;
  const { summary } = entry;
  const made = summary !== undefined && sameSteps(summary.steps, omit) ? summary : undefined;
  if (policy.overflow === 'summarise' && made === undefined) {
    const { step } = request;
    const messages = [{ role: 'system', text: policy.summary.instructions }] as const;
    return { kind: 'ask-model', step, messages, summarises: omit };
  }
  const count = (entry.ledger?.left ?? 0) + omit.length;
  return { ...request, omit, note: noteOf(count, policy, made?.text), contextTokens: tokens };
}

/** The request with what its policy makes of it; an agent without a policy says all. */
export function withinWindow(
  definition: ModelAgent,
  entry: AgentEntry,
  request: ModelRequest,
): Move {
  const { context: policy } = definition;
  if (policy === undefined) return request;
  const window = chooseWindow(policy, entry.ledger, request.messages);
  if (!window.fits) return tooLong(definition, entry, policy, window.tokens);
  if (window.omit.length === 0) return { ...request, contextTokens: window.tokens };
  return withoutSteps(policy, entry, { request, window });
}
