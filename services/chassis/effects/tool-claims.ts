/**
 * Who claims a permitted tool call, when again, and when nobody will: the pure part that all
 * runners of tools share. A call is here from its request to its first outcome; what it asked for
 * is forgotten with it.
 *
 * K1 A call is claimed once, and again only when its claim is lost and a repeat does no harm.
 * K2 Nothing is claimed for work that ended; a claim that stands already still has to end.
 * K3 A claim that is lost and not made again becomes unknown: what nobody saw is never called
 *    failed.
 */

import type { PinnedCatalog } from '../../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import { bodyOf, type DataOf, type SeenEvent } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import type { Persisted } from '../../../state-machines/fold.ts';
import {
  claimsOf,
  foldToolCall,
  isCancelled,
  toolCallFold,
} from '../../../state-machines/tool-call/tool-call-machine.ts';
import { addressOf } from '../protocol/service-logic.ts';
import { type EndedWork, endedBecause, foldEnded, nothingEnded } from './ended-work.ts';
import { type Members, memberOf, withMember, withoutMember } from './member.ts';
import {
  type AnswerBook,
  type AskedCall,
  answersOf,
  type PreparedAnswer,
  takeAnswer,
} from './prepared-answers.ts';

export type RunnerKind = ToolDefinition['runner']['kind'];
export type EffectClass = DataOf<'tool.permitted'>['effect'];

/** Whose claims these are: the service's name and the kinds of runner that it has. */
export type ClaimOwner = Readonly<{ service: string; kinds: readonly RunnerKind[] }>;

/**
 * `arguments` are dropped when the call is cancelled; `claim` is the address of the newest claim.
 */
export type ToolCallEntry = Readonly<{
  machine: Persisted;
  tool: string;
  agent: string;
  task: string;
  taskAttempt: number;
  arguments: JsonValue;
  effect: EffectClass;
  timeoutMs: number;
  claim: string;
  /** Number of the answer that it gets in place of being run, -1 for none; absent where it is run. */
  prepared?: number;
}>;

export type ToolClaims = Readonly<{
  ended: EndedWork;
  definitions: Members<ToolDefinition>;
  calls: Members<ToolCallEntry>;
  /** In a fork whose tools are not live: who answers, and nothing is run. */
  answers?: AnswerBook;
}>;

export type CallToRun = Readonly<{
  definition: ToolDefinition;
  arguments: JsonValue;
  /** Of a question to a server: the tools that it should have. */
  checked?: readonly ToolDefinition[];
  effect: EffectClass;
  /** Counts the claims of this call, from 1. */
  attempt: number;
  /** The answer that it gets in place of being run; `none` where nobody has one. */
  prepared?: PreparedAnswer | 'none';
}>;

export const noClaims: ToolClaims = { ended: nothingEnded, definitions: {}, calls: {} };

const withCalls = (state: ToolClaims, calls: Members<ToolCallEntry>): ToolClaims =>
  calls === state.calls ? state : { ...state, calls };

function definitionsOf(catalog: PinnedCatalog, owner: ClaimOwner): Members<ToolDefinition> {
  const own = Object.entries(catalog.tools).filter(([, tool]) =>
    owner.kinds.includes(tool.runner.kind),
  );
  return Object.fromEntries(own);
}

function request(state: ToolClaims, seen: SeenEvent<'tool.requested'>): ToolClaims {
  const { call, tool, agent, task, attempt } = seen.data;
  const isOurs = memberOf(state.definitions, tool) !== undefined;
  const isOver = endedBecause(state.ended, task, attempt) !== undefined;
  if (!isOurs || isOver || memberOf(state.calls, call) !== undefined) return state;
  const given = bodyOf(seen.content.arguments);
  const [prepared, answers] = answerFor(state, { tool, agent, arguments: given });
  const entry: ToolCallEntry = {
    machine: toolCallFold.initial(),
    tool,
    agent,
    task,
    taskAttempt: attempt,
    arguments: given,
    effect: 'at-most-once',
    timeoutMs: 0,
    claim: '',
    ...prepared,
  };
  return { ...state, ...answers, calls: withMember(state.calls, call, entry) };
}

/** What a call gets in a fork whose tools are not live; nothing where they are. */
function answerFor({ answers }: ToolClaims, call: AskedCall) {
  if (answers === undefined) return [{}, {}] as const;
  const [prepared, rest] = takeAnswer(answers, call);
  return [{ prepared }, { answers: rest }] as const;
}

/** A fork's own answers stand from its beginning on, and for what was under way there; those of a fork before it do not. */
function fork(state: ToolClaims, seen: SeenEvent<'session.forked'>): ToolClaims {
  const answers = answersOf(seen);
  if (answers === undefined && state.answers === undefined) return state;
  const { answers: _before, ...rest } = state;
  let next: ToolClaims = answers === undefined ? rest : { ...rest, answers };
  for (const [call, entry] of Object.entries(state.calls)) {
    const { prepared: _was, ...own } = entry;
    const [prepared, book] = answerFor(next, entry);
    next = { ...next, ...book, calls: withMember(next.calls, call, { ...own, ...prepared }) };
  }
  return next;
}

function permit(state: ToolClaims, seen: SeenEvent<'tool.permitted'>): ToolClaims {
  const { call, effect, timeoutMs } = seen.data;
  const entry = memberOf(state.calls, call);
  if (entry === undefined) return state;
  const machine = foldToolCall(entry.machine, seen);
  if (machine === entry.machine) return state;
  const permitted = { ...entry, machine, effect, timeoutMs };
  return { ...state, calls: withMember(state.calls, call, permitted) };
}

/** A first claim for a call that is gone: it was on its way when the call was cancelled, and has to end too. */
function strayEntry(tool: string): ToolCallEntry {
  const machine = toolCallFold.next(toolCallFold.initial(), { type: 'call.cancelled' });
  const origin = { agent: '', task: '', taskAttempt: 0 };
  const empty = { arguments: null, effect: 'at-most-once', timeoutMs: 0, claim: '' } as const;
  return { machine, tool, ...origin, ...empty };
}

function claim(state: ToolClaims, seen: SeenEvent<'tool.claimed'>): ToolClaims {
  const { call, tool, attempt } = seen.data;
  const known = memberOf(state.calls, call);
  // It was made again while the outcome was on its way: the call is settled, and the claim opens nothing.
  if (known === undefined && attempt > 1) return state;
  const entry = known ?? strayEntry(tool);
  const machine = foldToolCall(entry.machine, seen);
  if (machine === entry.machine) return state;
  const claimed = { ...entry, machine, claim: addressOf(seen) };
  return { ...state, calls: withMember(state.calls, call, claimed) };
}

/** Calls that nobody claimed are forgotten; the others are marked and wait for their end. */
function cancel(state: ToolClaims, isMeant: (entry: ToolCallEntry) => boolean): ToolClaims {
  let { calls } = state;
  for (const [call, entry] of Object.entries(calls)) {
    if (!isMeant(entry) || isCancelled(entry.machine)) continue;
    const machine = toolCallFold.next(entry.machine, { type: 'call.cancelled' });
    calls =
      machine.value === 'claimed'
        ? withMember(calls, call, { ...entry, machine, arguments: null })
        : withoutMember(calls, call);
  }
  return withCalls(state, calls);
}

function foldEnding(state: ToolClaims, seen: SeenEvent): ToolClaims {
  const ended = foldEnded(state.ended, seen);
  if (ended === state.ended) return state;
  return cancel(
    { ...state, ended },
    (entry) => endedBecause(ended, entry.task, entry.taskAttempt) !== undefined,
  );
}

/** The same object when the event changes nothing. */
export function foldClaims(state: ToolClaims, seen: SeenEvent, owner: ClaimOwner): ToolClaims {
  switch (seen.type) {
    case 'session.forked':
      return fork(state, seen);
    case 'plan.accepted': {
      const catalog = bodyOf(seen.content.catalog) as unknown as PinnedCatalog;
      return { ...state, definitions: definitionsOf(catalog, owner) };
    }
    case 'tool.requested':
      return request(state, seen);
    case 'tool.permitted':
      return permit(state, seen);
    case 'tool.claimed':
      return seen.service === owner.service ? claim(state, seen) : state;
    case 'tool.denied':
    case 'tool.completed':
    case 'tool.failed':
    case 'tool.unknown':
      return withCalls(state, withoutMember(state.calls, seen.data.call));
    case 'agent.cancelled':
    case 'agent.cleaned-up':
      return cancel(state, (entry) => entry.agent === seen.data.agent);
    default:
      return foldEnding(state, seen);
  }
}

function checkedBy(
  { runner }: ToolDefinition,
  { arguments: given }: ToolCallEntry,
  { definitions }: ToolClaims,
): Pick<CallToRun, 'checked'> {
  if (runner.kind !== 'mcp' || runner.checks !== true) return {};
  const { tools = [] } = (given ?? {}) as { tools?: readonly string[] };
  return { checked: tools.flatMap((name) => memberOf(definitions, name) ?? []) };
}

/** What to run for a claimed call. Undefined once the call has ended. */
export function callOf(state: ToolClaims, call: string): CallToRun | undefined {
  const entry = memberOf(state.calls, call);
  const definition = entry === undefined ? undefined : memberOf(state.definitions, entry.tool);
  if (entry === undefined || definition === undefined) return undefined;
  const { effect, machine, prepared } = entry;
  const asked = { definition, arguments: entry.arguments, ...checkedBy(definition, entry, state) };
  const run = { ...asked, effect, attempt: claimsOf(machine) };
  // In such a fork a call without a number, one that came late, say, is not run either.
  if (prepared === undefined && state.answers === undefined) return run;
  return { ...run, prepared: state.answers?.list[prepared ?? -1] ?? 'none' };
}

/**
 * Whether the effect of a claimed call may start or go on: not settled, and its work has not ended.
 */
export function mayRun(state: ToolClaims, call: string): boolean {
  const entry = memberOf(state.calls, call);
  return entry !== undefined && entry.machine.value === 'claimed' && !isCancelled(entry.machine);
}
