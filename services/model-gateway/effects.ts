/** How a claimed model call goes out: through the gate to its provider, and back as an outcome. */

import type { Clock, EffectJob, Effects } from '../chassis/host/ports.ts';
import type { SessionMeta } from '../chassis/protocol/service-logic.ts';
import { type ModelGatewayState, mayRun, requestOf } from './decide.ts';
import type { Gate } from './gate/gate.ts';
import { type GatherParts, wishOf } from './gather.ts';
import { providerOf } from './model-name.ts';
import { type Claim, notStarted, outcomeDraft, unrecorded } from './outcome.ts';
import type { ModelOutcome } from './providers/port.ts';
import type { ModelProviders } from './routes.ts';

export type ModelEffectsParts = Readonly<{
  providers: ModelProviders;
  clock: Clock;
  gate: Gate;
  countsTokens: GatherParts['countsTokens'];
}>;

type Control = Readonly<{ signal: AbortSignal; traceparent: string }>;

type Call = Readonly<{ claim: Claim; state: ModelGatewayState; session: SessionMeta }>;

async function complete(parts: ModelEffectsParts, { claim, state }: Call, control: Control) {
  const { call, model, deadlineAtMs } = claim.data;
  const asked = requestOf(state, call);
  const provider = parts.providers.get(providerOf(model));
  if (asked === undefined || provider === undefined) return undefined;
  const { agent: _agent, timeoutMs: _timeout, ...request } = asked;
  return provider.complete({ ...request, model, callId: call, deadlineAtMs, ...control });
}

/** Whatever happens, the room that the call takes is given back. */
async function throughGate(parts: ModelEffectsParts, call: Call, control: Control) {
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
    const outcome = await throughGate(parts, call, control);
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
