/**
 * How much of a conversation a request takes along (an agent's context policy). What is chosen here is written into
 * the request, so that it holds for ever.
 *
 * Tokens are an estimate until the provider has counted: a token per three bytes of JSON text and four per message.
 * With each answer the provider says what all that was sent has come to, and the newest part is corrected by it.
 */

import type { ContextPolicy } from '../../schemas/definitions/agent.ts';
import type { DataOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { NewMessage } from '../chassis/context/messages.ts';
import { canonical } from '../chassis/protocol/hash.ts';

/** Tokens of one step: the answer, and what the agent said to it. `pinned`: it always stays. */
export type LedgerStep = Readonly<{ step: number; said: number; told: number; pinned: boolean }>;

/** Tokens of what was said before the first answer (with the tools), of each step that is there, and of the note. */
export type ContextLedger = Readonly<{
  first: number;
  steps: readonly LedgerStep[];
  note: number;
  /** How many steps were left out so far. */
  left: number;
}>;

const bytesPerToken = 3;
const tokensPerMessage = 4;
const noteTokensMax = 64;
/** So much of the limit is used after something was left out: else each further step would leave one out. */
const refill = 0.75;

/** Estimated tokens of a text. */
export const tokensOfText = (text: string): number =>
  Math.ceil(Buffer.byteLength(text, 'utf8') / bytesPerToken);

/** Estimated tokens of messages. */
export const tokensOf = (messages: readonly NewMessage[]): number =>
  tokensOfText(canonical(messages as unknown as JsonValue)) + tokensPerMessage * messages.length;

const empty: ContextLedger = { first: 0, steps: [], note: 0, left: 0 };

const stepTokens = (steps: readonly LedgerStep[]): number =>
  steps.reduce((sum, { said, told }) => sum + said + told, 0);

/** The ledger after a request. One that is made again says the same once. */
export function foldAsked(
  known: ContextLedger = empty,
  asked: Readonly<{
    data: DataOf<'model.requested'>;
    messages: readonly NewMessage[];
    note?: string | undefined;
  }>,
): ContextLedger {
  const { omit = [] } = asked.data;
  const told = tokensOf(asked.messages);
  const kept = known.steps.filter(({ step }) => !omit.includes(step));
  const left = known.left + known.steps.length - kept.length;
  const note = asked.note === undefined ? known.note : tokensOfText(asked.note);
  const newest = kept.at(-1);
  if (newest === undefined) return { ...known, first: told, steps: kept, note, left };
  return { ...known, steps: kept.with(-1, { ...newest, told }), note, left };
}

/** The ledger after an answer; a provider that counted nothing corrects nothing. */
export function foldCounted(
  known: ContextLedger = empty,
  answer: Readonly<{ step: number; inputTokens: number; outputTokens: number; pinned: boolean }>,
): ContextLedger {
  const { step, inputTokens, outputTokens: said, pinned } = answer;
  const counted = inputTokens === 0 ? known : corrected(known, inputTokens);
  return { ...counted, steps: [...counted.steps, { step, said, told: 0, pinned }] };
}

/** Text has no fewer tokens than this share of the estimate: some servers count only a part. */
const leastShare = 0.25;

function corrected(known: ContextLedger, inputTokens: number): ContextLedger {
  const newest = known.steps.at(-1);
  const least = (estimate: number): number => Math.ceil(estimate * leastShare);
  if (newest === undefined) return { ...known, first: Math.max(least(known.first), inputTokens) };
  const others = known.first + known.note + stepTokens(known.steps.slice(0, -1)) + newest.said;
  const told = Math.max(least(newest.told), inputTokens - others);
  return { ...known, steps: known.steps.with(-1, { ...newest, told }) };
}

/** `tokens` is what the whole request comes to; `omit` are the steps that have to go, oldest first. */
export type Window = Readonly<{ tokens: number; omit: readonly number[]; fits: boolean }>;

/** What of the conversation stays in a request that says these new messages. */
export function chooseWindow(
  policy: ContextPolicy,
  known: ContextLedger = empty,
  messages: readonly NewMessage[],
): Window {
  const told = tokensOf(messages);
  const newest = known.steps.at(-1);
  const all =
    newest === undefined
      ? told
      : known.first + known.note + stepTokens(known.steps) - newest.told + told;
  if (all <= policy.tokensMax) return { tokens: all, omit: [], fits: true };
  if (policy.overflow === 'fail') return { tokens: all, omit: [], fits: false };
  const room = policy.overflow === 'summarise' ? policy.summary.outputTokensMax : noteTokensMax;
  return cut(policy, known.steps, all - known.note + room);
}

function cut(policy: ContextPolicy, steps: readonly LedgerStep[], all: number): Window {
  let tokens = all;
  const omit: number[] = [];
  const older = steps.slice(0, Math.max(0, steps.length - policy.keepSteps));
  for (const { step, said, told, pinned } of older) {
    if (tokens <= policy.tokensMax * refill) break;
    if (pinned) continue;
    omit.push(step);
    tokens -= said + told;
  }
  return { tokens, omit, fits: omit.length > 0 && tokens <= policy.tokensMax };
}

const steps = (count: number): string => (count === 1 ? '1 step' : `${count} steps`);

/** What stands in the conversation for what was left out. */
export function noteOf(count: number, policy: ContextPolicy, summary: string | undefined): string {
  if (summary !== undefined && summary.trim() !== '')
    return `Summary of ${steps(count)} of this conversation that were left out:\n${summary.trim()}`;
  const limit = `${policy.tokensMax} tokens`;
  return `(${steps(count)} of this conversation were left out here, to keep it within ${limit}.)`;
}
