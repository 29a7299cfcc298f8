/**
 * Sandboxes that are lent to calls. A lease belongs to one claim: it ends with the outcome of that
 * claim, when the call is claimed again, and when the call is over without it.
 */

import type { DataOf, SeenEvent } from '../../schemas/event.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { foldSandbox, sandboxFold } from '../../state-machines/sandbox/sandbox-machine.ts';
import { type Members, memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { hashOf } from '../chassis/protocol/hash.ts';

export type SandboxExit = DataOf<'sandbox.released'>['exit'];

/** `exit` is there once the claim's outcome was seen. */
export type Lease = Readonly<{ machine: Persisted; call: string; exit: SandboxExit | null }>;

/** The id of the sandbox that one claim of a call gets; `attempt` counts claims. */
export const sandboxId = (call: string, attempt: number): string =>
  `sbx_${hashOf([call, attempt]).slice(0, 32)}`;

const exits: ReadonlySet<string> = new Set<SandboxExit>(['exited', 'killed', 'unknown']);

const exitOf = (said: string | undefined): SandboxExit =>
  said !== undefined && exits.has(said) ? (said as SandboxExit) : 'unknown';

function note(leases: Members<Lease>, seen: SeenEvent<'tool.completed' | 'tool.failed'>) {
  const sandbox = sandboxId(seen.data.call, seen.data.attempt);
  const lease = memberOf(leases, sandbox);
  if (lease === undefined || lease.exit !== null) return leases;
  return withMember(leases, sandbox, { ...lease, exit: exitOf(seen.data.exit) });
}

/** The same object when the event changes nothing. */
export function foldLeases(leases: Members<Lease>, seen: SeenEvent): Members<Lease> {
  switch (seen.type) {
    case 'sandbox.leased': {
      const lease: Lease = { machine: sandboxFold.initial(), call: seen.data.call, exit: null };
      return withMember(leases, seen.data.sandbox, lease);
    }
    case 'tool.completed':
    case 'tool.failed':
      return note(leases, seen);
    case 'sandbox.released': {
      const lease = memberOf(leases, seen.data.sandbox);
      const isOver = lease !== undefined && foldSandbox(lease.machine, seen).done;
      return isOver ? withoutMember(leases, seen.data.sandbox) : leases;
    }
    default:
      return leases;
  }
}
