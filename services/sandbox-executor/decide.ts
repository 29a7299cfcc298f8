/**
 * The pure part of the sandbox executor: claims calls that bring code along, lends each claim a
 * sandbox, and says when it is gone. Runs nothing itself.
 */

import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import { sandboxFold } from '../../state-machines/sandbox/sandbox-machine.ts';
import { toolCallFold } from '../../state-machines/tool-call/tool-call-machine.ts';
import { type ClaimStep, claimDraft, dueClaims } from '../chassis/effects/claim-steps.ts';
import { type Members, memberOf, sortedEntries } from '../chassis/effects/member.ts';
import {
  type CallToRun,
  type ClaimOwner,
  callOf as callOfClaims,
  foldClaims,
  mayRun as mayRunClaims,
  noClaims,
  type ToolClaims,
} from '../chassis/effects/tool-claims.ts';
import { sha256 } from '../chassis/protocol/hash.ts';
import type { DecideInput, ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { foldLeases, type Lease, sandboxId } from './leases.ts';

export { sandboxId } from './leases.ts';

export type SandboxExecutorState = Readonly<{ claims: ToolClaims; leases: Members<Lease> }>;

/** `isolation` is what the runner of this host calls its isolation, such as `wasm-quickjs`. */
export type SandboxExecutorFacts = Readonly<{ isolation: string }>;

const owner: ClaimOwner = { service: 'sandbox-executor', kinds: ['sandbox'] };

function evolve(state: SandboxExecutorState, seen: SeenEvent): SandboxExecutorState {
  const claims = foldClaims(state.claims, seen, owner);
  const leases = foldLeases(state.leases, seen);
  return claims === state.claims && leases === state.leases ? state : { claims, leases };
}

/**
 * Whether the claim that the lease was made for is still open. A newer claim gave it back in its
 * own turn.
 */
function isInUse(state: SandboxExecutorState, lease: Lease): boolean {
  return lease.exit === null && memberOf(state.claims.calls, lease.call) !== undefined;
}

/** `steps` are part of the same turn: what they take the claim from is given back at once. */
function releases(state: SandboxExecutorState, steps: readonly ClaimStep[]): Draft[] {
  const moved = new Set(steps.map((step) => step.call));
  return sortedEntries(state.leases)
    .filter(([, lease]) => moved.has(lease.call) || !isInUse(state, lease))
    .map(([sandbox, { call, exit }]) =>
      event('sandbox.released', { sandbox, call, exit: exit ?? 'unknown' }),
    );
}

function stepDrafts(step: ClaimStep, isolation: string): Draft[] {
  if (step.kind === 'unknown') return [claimDraft(step)];
  const { call, attempt } = step.data;
  const lease = { sandbox: sandboxId(call, attempt), call, isolation };
  return [claimDraft(step), event('sandbox.leased', lease)];
}

function decide(
  state: SandboxExecutorState,
  input: DecideInput<SandboxExecutorFacts>,
): readonly Draft[] {
  const steps = dueClaims(state.claims, input);
  const drafts = steps.flatMap((step) => stepDrafts(step, input.facts.isolation));
  return [...drafts, ...releases(state, steps)];
}

export const sandboxExecutorLogic: ServiceLogic<SandboxExecutorState, SandboxExecutorFacts> = {
  name: owner.service,
  behaviour: 1,
  fold: 1,
  machines: {
    [toolCallFold.id]: sha256(toolCallFold.definition),
    [sandboxFold.id]: sha256(sandboxFold.definition),
  },
  initial: () => ({ claims: noClaims, leases: {} }),
  evolve,
  answers: (seen) => {
    if (seen.type === 'tool.permitted') return owner.kinds.includes(seen.data.runner);
    return seen.type === 'tool.completed' || seen.type === 'tool.failed';
  },
  decide,
};

/** What to run for a claimed call. Undefined once the call has ended. */
export const callOf = (state: SandboxExecutorState, call: string): CallToRun | undefined =>
  callOfClaims(state.claims, call);

/** Whether the code of a claimed call may start or go on. */
export const mayRun = (state: SandboxExecutorState, call: string): boolean =>
  mayRunClaims(state.claims, call);
