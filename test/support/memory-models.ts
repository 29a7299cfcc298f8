import type { Draft, InputEventType, SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Clock, EffectJob, Effects } from '../../services/chassis/host/ports.ts';
import type { SessionMeta } from '../../services/chassis/protocol/service-logic.ts';
import {
  type ModelCallToMake,
  type ModelGatewayState,
  mayRun,
  requestOf,
} from '../../services/model-gateway/decide.ts';
import type { Gate } from '../../services/model-gateway/gate/gate.ts';
import { wishOf } from '../../services/model-gateway/gather.ts';
import { notStarted, outcomeDraft, unrecorded } from '../../services/model-gateway/outcome.ts';
import type { ModelOutcome } from '../../services/model-gateway/providers/port.ts';
import { scriptedVector } from '../../services/model-gateway/providers/scripted-vectors.ts';
import { waitIn } from './memory-effects.ts';

/** Models of a simulated world. */

type Claim = SeenEvent<'model.claimed'>;

/** `deaf`: nothing ends it before it is done. */
export type FakeModelAnswer = Readonly<{ afterMs?: number; deaf?: true }> &
  (
    | Readonly<{
        text: string;
        calls?: readonly Readonly<{ name: string; arguments: JsonValue }>[];
      }>
    | Readonly<{ failure: Readonly<{ code: string; retryable: boolean; message?: string }> }>
  );

/** `count` says how often any model was asked in this world, from 1. */
export type FakeModel = (request: ModelCallToMake, count: number) => FakeModelAnswer;

const tokens = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
const priceVersion = 'world';

const providerOf = (model: string): string => model.slice(0, Math.max(0, model.indexOf('/')));

function failedModel(failure: { code: string; retryable: boolean; message?: string }) {
  const { code, retryable, message = 'No answer.' } = failure;
  const kind = retryable ? ('overloaded' as const) : ('invalid-request' as const);
  const cost = { costNanoUsd: 0, known: true, priceVersion };
  return { kind: 'failed' as const, error: { code, message, class: kind, retryable }, cost };
}

function answered(
  { data: { call, model } }: Claim,
  answer: Extract<FakeModelAnswer, { text: string }>,
): ModelOutcome {
  const { text } = answer;
  const toolCalls = (answer.calls ?? []).map((one, index) => ({ id: `${call}-${index}`, ...one }));
  return {
    kind: 'completed',
    message: { text, toolCalls },
    finishReason: toolCalls.length === 0 ? 'stop' : 'tool-calls',
    usage: { inputTokens: 40, outputTokens: 10 + text.length, ...tokens },
    cost: { costNanoUsd: 1_000 + text.length, known: true, priceVersion },
    provider: providerOf(model),
    model,
  };
}

/** Vectors as the scripted provider makes them. */
function embedded(said: ModelOutcome, texts: readonly string[]): ModelOutcome {
  if (said.kind !== 'completed') return said;
  const message = { text: '', toolCalls: [], vectors: texts.map(scriptedVector) };
  return { ...said, message, finishReason: 'stop' };
}

export type FakeModelParts = Readonly<{
  clock: Clock;
  gate: Gate;
  model: FakeModel;
  onStart(claim: Claim): void;
  countOf(): number;
}>;

type Call = Readonly<{ claim: Claim; state: ModelGatewayState; session: SessionMeta }>;

async function played(
  parts: FakeModelParts,
  { claim, state }: Call,
  signal: AbortSignal,
): Promise<readonly [ModelOutcome, number]> {
  parts.onStart(claim);
  const request = requestOf(state, claim.data.call);
  if (request === undefined) return [failedModel({ code: 'CALL_NOT_MADE', retryable: false }), 0];
  const answer = parts.model({ ...request, model: claim.data.model }, parts.countOf());
  const afterMs = answer.afterMs ?? 20;
  const heard = answer.deaf === true ? new AbortController().signal : signal;
  if (await waitIn(parts.clock, afterMs, heard)) {
    const retryable = signal.reason === 'deadline';
    return [failedModel({ code: 'MODEL_STOPPED', retryable }), 0];
  }
  if ('failure' in answer) return [failedModel(answer.failure), afterMs];
  const said = answered(claim, answer);
  return [request.texts === undefined ? said : embedded(said, request.texts), afterMs];
}

/** The effects of the model gateway over a function. */
export function fakeModelEffects(parts: FakeModelParts): Effects<unknown> {
  const { gate, clock } = parts;
  const run = async (call: Call, signal: AbortSignal): Promise<Draft<InputEventType>> => {
    const { claim, state, session } = call;
    const wish = wishOf(state, claim.data, { session, countsTokens: () => true });
    gate.begin(wish, { nowMs: clock.nowMs(), deadlineAtMs: claim.data.deadlineAtMs });
    const [outcome, durationMs] = await played(parts, call, signal);
    gate.end(wish, outcome, clock.nowMs());
    return outcomeDraft(claim, outcome, durationMs);
  };
  const jobOf = (seen: SeenEvent, state: ModelGatewayState, session: SessionMeta) => {
    if (seen.type !== 'model.claimed') return undefined;
    const { call, deadlineAtMs } = seen.data;
    const job: EffectJob = {
      ...{ call, deadlineAtMs },
      notStarted: (reason) => notStarted(seen, reason),
      run: ({ signal }) => run({ claim: seen, state, session }, signal),
      unrecorded: (outcome, why) => unrecorded(seen, outcome, why),
    };
    return job;
  };
  return { jobOf, mayRun } as Effects<unknown>;
}
