/** The fold of an agent's model calls: what was asked, what was answered, and what that has cost. */

import type { AgentDefinition, ModelAgent } from '../../schemas/definitions/agent.ts';
import { bodyOf, type DataOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import { type ModelAnswer, type NewMessage, readAnswer } from '../chassis/context/messages.ts';
import { foldAsked, foldCounted } from './context-window.ts';
import { askedEmbedding, endedEmbedding, isEmbedding } from './evolve-embed.ts';
import { modelFailureOf } from './failures.ts';
import { allRefused } from './model-limits.ts';
import { recovered } from './recovery.ts';
import type { AgentEntry, ModelProgress } from './state.ts';
import { spent } from './usage.ts';

type Part = Partial<AgentEntry>;
type Completed = SeenEvent<'model.completed'>;

function nextTry(model: ModelProgress, call: string, tries: number): ModelProgress {
  const { failure: _failed, retry: _waited, ...kept } = model;
  return { ...kept, call, tries };
}

/** A summary is a call of the agent, but no try at its step. */
function askedSummary(entry: AgentEntry, { call, summarises = [] }: DataOf<'model.requested'>) {
  const { usage, calls } = entry;
  return {
    summary: { call, steps: summarises, ended: false },
    calls: calls + 1,
    usage: { ...usage, modelCalls: usage.modelCalls + 1 },
  };
}

/** What older templates do not have stays away from the state of their agents. */
function askedMore(
  entry: AgentEntry,
  definition: ModelAgent | undefined,
  seen: SeenEvent<'model.requested'>,
): Part {
  const { repair, fallback, step } = seen.data;
  if (definition?.form === undefined) return {};
  const { refused = 0, tools, usage, ledger } = entry;
  const isNew = step > usage.steps;
  const messages = bodyOf(seen.content.messages, []) as unknown as readonly NewMessage[];
  const note = seen.content.note === undefined ? undefined : textOf(seen.content.note);
  return {
    ...(repair === undefined ? {} : { repairs: repair }),
    ...(fallback === undefined ? {} : { fallback }),
    ...(isNew ? { refused: allRefused(tools) ? refused + 1 : 0 } : {}),
    ...(definition.context === undefined
      ? {}
      : { ledger: foldAsked(ledger, { data: seen.data, messages, note }) }),
  };
}

/** The agent after it asked its model. */
export function askedModel(
  entry: AgentEntry,
  definition: ModelAgent | undefined,
  seen: SeenEvent<'model.requested'>,
): Part {
  const { call, step, summarises, fallback, embeds } = seen.data;
  if (embeds !== undefined) return askedEmbedding(entry, seen);
  if (summarises !== undefined) return askedSummary(entry, seen.data);
  const { usage, model, calls } = entry;
  const again = step === usage.steps && fallback === entry.fallback;
  return {
    ...askedMore(entry, definition, seen),
    model: nextTry(model, call, again ? model.tries + 1 : 1),
    calls: calls + 1,
    usage: { ...usage, steps: step, modelCalls: usage.modelCalls + 1 },
  };
}

const isSummary = ({ summary }: AgentEntry, call: string): boolean =>
  summary !== undefined && summary.call === call && !summary.ended;

function counted(
  entry: AgentEntry,
  definition: ModelAgent | undefined,
  { data, answer }: { data: DataOf<'model.completed'>; answer: ModelAnswer },
): Part {
  const policy = definition?.context;
  if (policy === undefined) return {};
  const { inputTokens, outputTokens } = data;
  const pinned = answer.toolCalls.some(({ name }) => policy.pin.includes(name));
  const said = { step: entry.usage.steps, inputTokens, outputTokens, pinned };
  return { ledger: foldCounted(entry.ledger, said) };
}

/** The agent after its model answered. */
export function completedModel(
  entry: AgentEntry,
  definition: ModelAgent | undefined,
  seen: Completed,
): Part {
  if (isEmbedding(entry, seen.data.call)) return endedEmbedding(entry, seen, definition);
  const answer = readAnswer(bodyOf(seen.content.message));
  const usage = spent(entry.usage, seen);
  const { model, summary } = entry;
  const { call, finishReason } = seen.data;
  if (summary !== undefined && isSummary(entry, call)) {
    const text = answer?.text ?? '';
    return { usage, summary: { ...summary, ended: true, text } };
  }
  if (answer === undefined) return { usage, model: { ...model, failure: modelFailureOf(seen) } };
  const answered = { call: model.call, tries: model.tries, answer, finishReason };
  const step = definition?.form === undefined ? {} : { step: entry.usage.steps };
  const next = { ...answered, ...step };
  return {
    ...counted(entry, definition, { data: seen.data, answer }),
    ...recovered(entry),
    usage,
    model: next,
    tools: [],
  };
}

/** The agent after a model call that gave no answer. One for a summary is not made again: its steps are left out. */
export function failedModel(
  entry: AgentEntry,
  seen: SeenEvent<'model.failed' | 'model.denied'>,
  definition: AgentDefinition | undefined,
): Part {
  if (isEmbedding(entry, seen.data.call)) return endedEmbedding(entry, seen, definition);
  const usage = seen.type === 'model.failed' ? spent(entry.usage, seen) : entry.usage;
  const { model, summary } = entry;
  if (summary !== undefined && isSummary(entry, seen.data.call))
    return { usage, summary: { ...summary, ended: true } };
  return { usage, model: { ...model, failure: modelFailureOf(seen) } };
}
