/** How a claimed model call goes out: through the gate to its provider, and back as an outcome. */

import type { BlobPort } from '../chassis/content/blobs.ts';
import { memberOf } from '../chassis/effects/member.ts';
import { LongreinError, toError } from '../chassis/errors.ts';
import type { Clock, EffectJob, Effects } from '../chassis/host/ports.ts';
import type { SessionMeta } from '../chassis/protocol/service-logic.ts';
import { type AnswerCache, questionKey } from './answer-cache.ts';
import { type ModelGatewayState, mayRun, requestOf, rulesOf } from './decide.ts';
import { withFiles } from './files.ts';
import type { Gate } from './gate/gate.ts';
import { type GatherParts, wishOf } from './gather.ts';
import { providerOf } from './model-name.ts';
import { type Claim, notStarted, outcomeDraft, unrecorded } from './outcome.ts';
import type { ModelOutcome } from './providers/port.ts';
import type { ModelProviders } from './routes.ts';
import type { TokenChannel } from './tokens.ts';

export type ModelEffectsParts = Readonly<{
  providers: ModelProviders;
  clock: Clock;
  gate: Gate;
  countsTokens: GatherParts['countsTokens'];
  blobs: BlobPort;
  cache: AnswerCache;
  /** Where it is told what a model says meanwhile. */
  tokens?: TokenChannel;
}>;

type Control = Readonly<{ signal: AbortSignal; traceparent: string }>;

type Call = Readonly<{ claim: Claim; state: ModelGatewayState; session: SessionMeta }>;

/** What is asked; undefined where what asked for it is gone. */
function questionOf({ claim, state }: Call) {
  const { call, model } = claim.data;
  const asked = requestOf(state, call);
  if (asked === undefined) return undefined;
  const { agent: _agent, timeoutMs: _timeout, ...request } = asked;
  const { outputSchema } = rulesOf(state, call);
  return { ...request, model, ...(outputSchema === undefined ? {} : { outputSchema }) };
}

type Question = NonNullable<ReturnType<typeof questionOf>>;

async function complete(
  parts: ModelEffectsParts,
  at: Call & { question: Question },
  control: Control,
) {
  const { claim, question } = at;
  const { call, model, deadlineAtMs } = claim.data;
  const provider = parts.providers.get(providerOf(model));
  if (provider === undefined) return undefined;
  try {
    const messages = await withFiles(question.messages, parts.blobs);
    return await provider.complete({
      ...question,
      messages,
      callId: call,
      deadlineAtMs,
      ...control,
      ...listening(parts, at),
    });
  } catch (thrown) {
    return unreadable(toError(thrown));
  }
}

/** Who follows the session sees the answer while it comes; a summary is not one. */
function listening({ tokens }: ModelEffectsParts, { claim, state, session }: Call) {
  const entry = memberOf(state.calls, claim.data.call);
  if (tokens === undefined || entry?.agent === undefined) return {};
  if (entry.summary !== undefined || entry.embed !== undefined) return {};
  const { call, model, attempt, try: number = 1 } = claim.data;
  const { agent, task } = entry;
  const piece = { session: session.session, call, agent, task, model, claim: attempt, try: number };
  return { onText: tokens.listener(piece) };
}

/** A file of the conversation is not there: no other model would see it either. */
function unreadable(error: Error): ModelOutcome {
  const { code, fix } = error instanceof LongreinError ? error : { code: 'FILE_UNREADABLE' };
  const said = { code, message: error.message, ...(fix === undefined ? {} : { fix }) };
  return { kind: 'failed', error: { ...said, class: 'invalid-request', retryable: false } };
}

/** From the cache, where the agent allows that; else from its provider, and into the cache. */
async function answer(parts: ModelEffectsParts, call: Call, control: Control) {
  const question = questionOf(call);
  if (question === undefined) return undefined;
  const { answerCacheMs } = rulesOf(call.state, call.claim.data.call);
  const { cache, clock, gate } = parts;
  if (answerCacheMs === undefined) return throughGate(parts, { ...call, question }, control);
  const key = questionKey(call.session.tenant, question);
  const known = cache.get(key, clock.nowMs());
  if (known !== undefined) {
    gate.letGo(call.claim.data.call);
    return known;
  }
  const outcome = await throughGate(parts, { ...call, question }, control);
  if (outcome !== undefined) cache.keep(key, outcome, clock.nowMs() + answerCacheMs);
  return outcome;
}

/** Whatever happens, the room that the call takes is given back. */
async function throughGate(
  parts: ModelEffectsParts,
  call: Call & { question: Question },
  control: Control,
) {
  const { gate, clock, countsTokens } = parts;
  const { claim, state, session } = call;
  const wish = wishOf(state, claim.data, { session, countsTokens });
  const cancelled = { kind: 'failed', error: { class: 'cancelled' } } as ModelOutcome;
  let outcome: ModelOutcome | undefined;
  gate.begin(wish, { nowMs: clock.nowMs(), deadlineAtMs: claim.data.deadlineAtMs });
  try {
    outcome = await complete(parts, call, control);
    return outcome;
  } finally {
    gate.end(wish, outcome ?? cancelled, clock.nowMs());
  }
}

/** The effects of the model gateway. */
export function createModelEffects(parts: ModelEffectsParts): Effects<ModelGatewayState> {
  const run = async (call: Call, control: Control) => {
    const startedMs = parts.clock.nowMs();
    const outcome = await answer(parts, call, control);
    if (outcome === undefined) return notStarted(call.claim, 'cancelled');
    const durationMs = Math.max(0, Math.round(parts.clock.nowMs() - startedMs));
    return outcomeDraft(call.claim, outcome, durationMs);
  };
  return {
    mayRun,
    jobOf(seen, state, session): EffectJob | undefined {
      if (seen.type !== 'model.claimed') return undefined;
      const { call, deadlineAtMs } = seen.data;
      return {
        call,
        deadlineAtMs,
        run: (control) => run({ claim: seen, state, session }, control),
        notStarted: (reason) => notStarted(seen, reason),
        unrecorded: (outcome, why) => unrecorded(seen, outcome, why),
      };
    },
  };
}
