/**
 * Answers to equal requests, kept in this process for agents that allow it. A hit is an answer like
 * any other in the log, and says that it was one: it used no tokens and cost nothing.
 *
 * A1 Equal means: the same tenant, model, and the whole request. Tenants never share an answer.
 * A2 Only what the model finished by itself is kept; failures never are.
 */

import type { JsonValue } from '../../schemas/json.ts';
import { canonical, sha256 } from '../chassis/protocol/hash.ts';
import type { ModelCompleted, ModelOutcome, ModelRequest } from './providers/port.ts';

const bytesMax = 67_108_864;

type Kept = Readonly<{ answer: ModelCompleted; untilMs: number; bytes: number }>;

const nothingUsed = {
  ...{ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 },
  ...{ cacheWriteTokens: 0, reasoningTokens: 0 },
};

const isWhole = (outcome: ModelOutcome): outcome is ModelCompleted =>
  outcome.kind === 'completed' && ['stop', 'tool-calls'].includes(outcome.finishReason);

type Question = Omit<ModelRequest, 'callId' | 'signal' | 'deadlineAtMs' | 'traceparent' | 'onText'>;

/** What makes two requests equal. */
export function questionKey(tenant: string, question: Question): string {
  const { model, messages, tools, outputTokensMax, temperature, outputSchema } = question;
  const { input = null, texts = null } = question;
  const rest = [outputTokensMax, temperature ?? null, outputSchema ?? null, input, texts];
  const whole = [tenant, model, messages, tools, ...rest];
  return sha256(canonical(whole as unknown as JsonValue));
}

export class AnswerCache {
  /** Oldest use first. */
  private readonly kept = new Map<string, Kept>();
  private bytes = 0;

  /** The answer that was given to an equal request, for nothing. */
  get(key: string, nowMs: number): ModelCompleted | undefined {
    const found = this.kept.get(key);
    if (found === undefined) return undefined;
    this.drop(key);
    if (found.untilMs <= nowMs) return undefined;
    this.put(key, found);
    const cost = { costNanoUsd: 0, known: true, priceVersion: 'answer-cache' };
    return { ...found.answer, usage: nothingUsed, cost, cached: true };
  }

  keep(key: string, outcome: ModelOutcome, untilMs: number): void {
    if (!isWhole(outcome) || outcome.cached === true) return;
    const bytes = canonical(outcome.message as unknown as JsonValue).length;
    if (bytes > bytesMax) return;
    this.drop(key);
    this.put(key, { answer: outcome, untilMs, bytes });
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= bytesMax) break;
      this.drop(oldest);
    }
  }

  private put(key: string, kept: Kept): void {
    this.kept.set(key, kept);
    this.bytes += kept.bytes;
  }

  private drop(key: string): void {
    this.bytes -= this.kept.get(key)?.bytes ?? 0;
    this.kept.delete(key);
  }
}
