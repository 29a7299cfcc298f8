/** Gathers the facts of one decision: quotes from the price book, room from the gate. */

import type { FactsMoment } from '../chassis/host/ports.ts';
import type { SessionMeta } from '../chassis/protocol/service-logic.ts';
import { isOpen } from './claims.ts';
import { callsToQuote, mostOf } from './decide.ts';
import { answerAll, claimedIn } from './facts.ts';
import type { Gate, Wish } from './gate/gate.ts';
import type { GatewayHosts } from './gate/hosts.ts';
import type { ModelGatewayFacts, Room } from './gateway-facts.ts';
import { providerOf } from './model-name.ts';
import type { ModelCost, QuotedUse } from './providers/port.ts';
import type { ModelGatewayState } from './state.ts';
import type { DayLimit } from './tranche.ts';

export type GatherParts = Readonly<{
  /** Names of the providers that this host can reach. */
  providers: readonly string[];
  /** What such a use costs; undefined where the provider is not here. */
  quote(use: QuotedUse): ModelCost | undefined;
  gate: Gate;
  hosts: GatewayHosts;
  /** What the tenant may spend today; undefined where nothing limits that. */
  dayBudget(tenant: string): DayLimit | undefined;
  /** Whether tokens of this provider or tenant are limited: else nobody counts them. */
  countsTokens(provider: string, tenant: string): boolean;
}>;

/** What a claim would ask of the gate. */
export function wishOf(
  state: ModelGatewayState,
  { call, model }: { call: string; model: string },
  at: { session: SessionMeta; countsTokens: GatherParts['countsTokens'] },
): Wish {
  const { session, tenant } = at.session;
  const provider = providerOf(model);
  const most = at.countsTokens(provider, tenant) ? mostOf(state, call) : undefined;
  const tokens = most === undefined ? 0 : most.inputTokensMost + most.outputTokensMax;
  return { call, session, tenant, provider, model, tokens };
}

function baseFacts(
  state: ModelGatewayState,
  parts: GatherParts,
  { tenant, due }: { tenant: string; due: boolean },
): ModelGatewayFacts {
  const providers = [...parts.providers].sort();
  const dayBudget = due ? parts.dayBudget(tenant) : undefined;
  const quotes = callsToQuote(state, dayBudget !== undefined).flatMap(
    ({ key, call: _call, ...use }) => {
      const quote = parts.quote(use);
      const { inputTokensMost } = use;
      return quote === undefined ? [] : [[key, { inputTokensMost, ...quote }] as const];
    },
  );
  return {
    providers,
    ...(quotes.length === 0 ? {} : { quotes: Object.fromEntries(quotes) }),
    ...(dayBudget === undefined ? {} : { dayBudget }),
  };
}

type Claims = readonly Readonly<{ call: string; model: string }>[];

/** Holds room for the claims; the room of the first model that has not enough. */
function holdAll(claims: Claims, hold: (claim: Claims[number]) => Omit<Room, 'calls'> | undefined) {
  const held = new Map<string, number>();
  for (const claim of claims) {
    const refusal = hold(claim);
    const calls = held.get(claim.model) ?? 0;
    if (refusal !== undefined) return { [claim.model]: { calls, ...refusal } };
    held.set(claim.model, calls + 1);
  }
  return undefined;
}

/**
 * The facts for what is due in this state. What the decision will claim is held at the gate: it is
 * found by deciding, again for each model that turns out to have no room.
 */
export function gatherFacts(
  state: ModelGatewayState,
  session: SessionMeta,
  at: FactsMoment & { parts: GatherParts },
): ModelGatewayFacts {
  const { parts, ...moment } = at;
  const due = Object.entries(state.calls).some(([call, entry]) => isOpen(moment, call, entry));
  const base = baseFacts(state, parts, { tenant: session.tenant, due });
  if (!due) return base;
  const { gate, countsTokens } = parts;
  const hosts = parts.hosts.alive(moment.nowMs);
  if (hosts !== undefined) gate.heard(hosts, moment.nowMs);
  const known = { session, causes: [], attachments: {}, ...moment };
  let room: Readonly<Record<string, Room>> = {};
  for (;;) {
    const facts = Object.keys(room).length === 0 ? base : { ...base, room };
    const claims = claimedIn(answerAll(state, { ...known, facts }));
    const full = holdAll(claims, (claim) =>
      gate.hold(wishOf(state, claim, { session, countsTokens }), moment.nowMs),
    );
    if (full === undefined) {
      gate.keepOnly(session.session, new Set(claims.map(({ call }) => call)));
      return facts;
    }
    room = { ...room, ...full };
  }
}
