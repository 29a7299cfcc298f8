/**
 * The pure part of the tool guard: one answer for every tool call that an agent asks for, before
 * anything runs. Owns the decision, not the call: what happens after a permit is the runner's.
 *
 * G1 Every requested call gets exactly one of permitted and denied, also after its session ended.
 * G2 Tools, agents and their rights are those that the session pinned with its plan.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition, ToolRisk } from '../../schemas/definitions/tool.ts';
import {
  bodyOf,
  type DataOf,
  type Draft,
  event,
  type SeenEvent,
  text,
} from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { serverChecksOf } from '../chassis/catalog/server-checks.ts';
import {
  type EndedWork,
  endedBecause,
  foldEnded,
  nothingEnded,
} from '../chassis/effects/ended-work.ts';
import {
  type Members,
  memberOf,
  sortedEntries,
  withMember,
  withoutMember,
} from '../chassis/effects/member.ts';
import { hashOf } from '../chassis/protocol/hash.ts';
import type { ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { type AgentRights, checkCall, type Denial } from './checks.ts';
import {
  beyondGiver,
  type Delegations,
  delegationsOf,
  foldDelegated,
  givingRefusal,
  noDelegations,
} from './delegations.ts';

/** A call without an answer. */
export type GuardedCall = Readonly<{
  tool: string;
  agentName: string;
  task: string;
  attempt: number;
  arguments: JsonValue;
  argumentsDigest: string;
  argumentBytes: number;
}>;

export type ToolGuardState = Readonly<{
  ended: EndedWork;
  riskMax: ToolRisk;
  agents: Members<AgentRights>;
  tools: Members<ToolDefinition>;
  calls: Members<GuardedCall>;
  /** There where agents of the session may give work to others. */
  delegations?: Delegations;
}>;

/** What a goal allows that does not say how much. */
export const riskMaxDefault: ToolRisk = 'high';

const initial: ToolGuardState = {
  ended: nothingEnded,
  riskMax: riskMaxDefault,
  agents: {},
  tools: {},
  calls: {},
};

function pin(state: ToolGuardState, catalog: PinnedCatalog): ToolGuardState {
  const rights = Object.entries(catalog.agents).map(([name, agent]) => {
    const { role, tools } = agent;
    const checks = serverChecksOf(agent, catalog.tools).map(({ check }) => check);
    return [name, { role, tools, ...(checks.length === 0 ? {} : { checks }) }] as const;
  });
  const delegations = delegationsOf(catalog);
  return {
    ...{ ...state, agents: Object.fromEntries(rights), tools: catalog.tools },
    ...(delegations === undefined ? {} : { delegations }),
  };
}

function request(state: ToolGuardState, seen: SeenEvent<'tool.requested'>): ToolGuardState {
  const { call, tool, agentName, task, attempt } = seen.data;
  const { digest, bytes } = seen.content.arguments;
  const guarded: GuardedCall = {
    tool,
    agentName,
    task,
    attempt,
    arguments: bodyOf(seen.content.arguments),
    argumentsDigest: digest,
    argumentBytes: bytes,
  };
  return { ...state, calls: withMember(state.calls, call, guarded) };
}

function evolve(state: ToolGuardState, seen: SeenEvent): ToolGuardState {
  switch (seen.type) {
    case 'session.opened': {
      const riskMax = seen.data.riskMax ?? riskMaxDefault;
      return riskMax === state.riskMax ? state : { ...state, riskMax };
    }
    case 'plan.accepted':
      return pin(state, bodyOf(seen.content.catalog) as unknown as PinnedCatalog);
    case 'task.delegated':
      return { ...state, delegations: foldDelegated(state.delegations ?? noDelegations, seen) };
    case 'tool.requested':
      return request(state, seen);
    case 'tool.permitted':
    case 'tool.denied': {
      const calls = withoutMember(state.calls, seen.data.call);
      return calls === state.calls ? state : { ...state, calls };
    }
    default: {
      const ended = foldEnded(state.ended, seen);
      return ended === state.ended ? state : { ...state, ended };
    }
  }
}

/** Whether a call may be made again when nobody saw how it ended. */
function effectOf(tool: ToolDefinition): DataOf<'tool.permitted'>['effect'] {
  if (tool.sideEffects === 'none' || tool.sideEffects === 'read') return 'read-only';
  return tool.idempotent ? 'idempotent' : 'at-most-once';
}

function deny(call: string, tool: string, denial: Denial): Draft {
  const { code, check, message, fix } = denial;
  const content = { message: text(`${message} ${fix}`) };
  return event('tool.denied', { call, tool, code, check }, content);
}

/** A pool asks the person itself, and sends here only what is no proper question. */
function refuseQuestion(call: string, { tool }: GuardedCall): Draft {
  const message = `"${tool}" is no call that anybody carries out.`;
  const fix = 'List it in the tools of the agent; then the agent asks.';
  return deny(call, tool, { code: 'PERSON_NOT_CALLED', check: 'known', message, fix });
}

/** Likewise: a pool makes a task of what may be given to another agent, and asks here for the reason of what may not. */
function refuseGiving(call: string, guarded: GuardedCall, delegations: Delegations): Draft {
  return deny(call, guarded.tool, { check: 'role', ...givingRefusal(delegations, guarded) });
}

/** By the definition that a session pinned: the same one is permitted over and over. */
const toolDigests = new WeakMap<ToolDefinition, string>();

function digestOf(tool: ToolDefinition): string {
  const known = toolDigests.get(tool);
  if (known !== undefined) return known;
  const digest = hashOf(tool);
  toolDigests.set(tool, digest);
  return digest;
}

function permit(
  call: string,
  guarded: GuardedCall,
  { tool, delegations }: Readonly<{ tool: ToolDefinition; delegations: Delegations }>,
): Draft {
  const { kind } = tool.runner;
  if (kind === 'person') return refuseQuestion(call, guarded);
  if (kind === 'agent') return refuseGiving(call, guarded, delegations);
  return event('tool.permitted', {
    call,
    tool: guarded.tool,
    toolVersion: tool.version,
    toolDigest: digestOf(tool),
    runner: kind,
    effect: effectOf(tool),
    risk: tool.risk,
    argumentsDigest: guarded.argumentsDigest,
    timeoutMs: tool.timeoutMs,
  });
}

function answer(state: ToolGuardState, call: string, guarded: GuardedCall): Draft {
  const { ended, agents, tools, riskMax, delegations = noDelegations } = state;
  const { tool, agentName, task, attempt, arguments: given, argumentBytes } = guarded;
  const verdict = checkCall({
    ended: endedBecause(ended, task, attempt),
    tool,
    agentName,
    rights: memberOf(agents, agentName),
    tools,
    riskMax,
    arguments: given,
    argumentBytes,
  });
  if ('check' in verdict) return deny(call, tool, verdict);
  const beyond = beyondGiver(delegations, { task, agents, definition: verdict });
  if (beyond !== undefined) return deny(call, guarded.tool, beyond);
  return permit(call, guarded, { tool: verdict, delegations });
}

export const toolGuardLogic: ServiceLogic<ToolGuardState> = {
  name: 'tool-guard',
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => initial,
  evolve,
  answers: (seen) => seen.type === 'tool.requested',
  decide: (state) =>
    sortedEntries(state.calls).map(([call, guarded]) => answer(state, call, guarded)),
};
