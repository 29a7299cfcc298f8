/** An answer that a model writes from what the tasks gave: what it is asked, and what came back. */

import type { Synthesis } from '../../schemas/definitions/plan.ts';
import { bodyOf, type Draft, event, json, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../chassis/errors.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import { callId } from '../chassis/protocol/ids.ts';
import type { AggregatorState, SynthesisState } from './state.ts';

/** What the aggregator's own model calls are told from those of agents by. */
export const aggregatorAgent = 'aggregator';

const nothingAsked: SynthesisState = { calls: 0, open: null };

/** `again`: the model is still to be asked, or asked again; `wait`: its answer is to come. */
export type SynthesisStep = 'wait' | Readonly<{ ask: Draft }> | Readonly<{ text: string }>;

/** Throws LongreinError OUTPUT_SYNTHESIS_FAILED when the model gave no answer for good. */
export function synthesisStep(
  state: AggregatorState,
  session: string,
  of: Readonly<{ synthesis: Synthesis; collected: JsonValue }>,
): SynthesisStep {
  const { open, answer, failure, calls } = state.synthesis ?? nothingAsked;
  if (open !== null) return 'wait';
  if (answer !== undefined) return { text: answer };
  if (failure === undefined || (failure.retryable && calls < of.synthesis.attemptsMax))
    return { ask: question(state, session, of) };
  const message = `The model that writes the answer failed (${failure.code}): ${failure.message}`;
  throw new LongreinError('OUTPUT_SYNTHESIS_FAILED', message, {
    fix: 'What the tasks gave stands in the log of the session.',
  });
}

function question(
  state: AggregatorState,
  session: string,
  { synthesis, collected }: Readonly<{ synthesis: Synthesis; collected: JsonValue }>,
): Draft {
  const { model: alias, guidance, outputTokensMax, timeoutMs } = synthesis;
  const route =
    state.models !== undefined && Object.hasOwn(state.models, alias) ? state.models[alias] : alias;
  const calls = (state.synthesis?.calls ?? 0) + 1;
  const system = [
    'You write one answer from what several tasks gave. Use nothing else.',
    'Where they contradict each other, say so and name the tasks.',
    ...(guidance === '' ? [] : [guidance]),
  ].join('\n');
  const asked: JsonObject = { goal: state.scope?.goal ?? null, outputs: collected };
  const messages = [
    { role: 'system', text: system },
    { role: 'user', text: canonical(asked) },
  ];
  const data = {
    call: callId(session, aggregatorAgent, calls),
    ...{ agent: aggregatorAgent, task: 'synthesis', attempt: 1, step: 1 },
    ...{ agentName: aggregatorAgent, outputTokensMax, timeoutMs, tools: [] },
    // A list is the gateway's to go through.
    model: typeof route === 'string' ? route : alias,
  };
  return event('model.requested', data, { messages: json(messages), input: json(asked) });
}

/** The fold of the aggregator's own calls; the same object where the event is not about one. */
export function withSynthesis(state: AggregatorState, event: SeenEvent): AggregatorState {
  const { synthesis = nothingAsked } = state;
  if (event.type === 'model.requested') {
    if (event.data.agent !== aggregatorAgent) return state;
    return { ...state, synthesis: { calls: synthesis.calls + 1, open: event.data.call } };
  }
  if (!('call' in event.data) || event.data.call !== synthesis.open) return state;
  const next = answered({ ...synthesis, open: null }, event);
  return next === undefined ? state : { ...state, synthesis: next };
}

function answered(synthesis: SynthesisState, event: SeenEvent): SynthesisState | undefined {
  if (event.type === 'model.completed') {
    const message = bodyOf(event.content.message);
    const spoken = typeof message === 'object' && message !== null && 'text' in message;
    return { ...synthesis, answer: spoken ? String(message.text) : textOf(event.content.message) };
  }
  if (event.type !== 'model.failed' && event.type !== 'model.denied') return undefined;
  const retryable = event.type === 'model.failed' && event.data.retryable;
  const failure = { code: event.data.code, message: textOf(event.content.message), retryable };
  return { ...synthesis, failure };
}
