/**
 * The pure part of a worker pool: makes an agent for each task of its pool and takes it from call
 * to call to its end. Calls nothing itself.
 *
 * W1 An agent has at most one turn of its own under way: it moves only when nothing that it asked
 *    for is open.
 * W2 Ids of calls are counted in the state, so that two equal calls are two calls.
 * W3 A further attempt goes on from what the one before has (resume.ts).
 * W4 After the end of its task or session an agent does nothing but end.
 * W5 It does nothing before the servers of its tools said that they are well, where its template wants that.
 */

import type { AgentDefinition, ModelAgent } from '../../schemas/definitions/agent.ts';
import { type Draft, event, json, text } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { agentFold } from '../../state-machines/agent/agent-machine.ts';
import { type EndedBecause, endedBecause } from '../chassis/effects/ended-work.ts';
import { memberOf, sortedEntries } from '../chassis/effects/member.ts';
import { hashOf, sha256 } from '../chassis/protocol/hash.ts';
import { callId } from '../chassis/protocol/ids.ts';
import { beginProposal } from '../chassis/protocol/proposal.ts';
import type { DecideInput, ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { isCause } from './causes.ts';
import { delegationDrafts, WorkGiver, withColleagues } from './delegation.ts';
import { evolve } from './evolve.ts';
import { cancelDrafts, completeDrafts, failDrafts, taskFailedDraft } from './finish.ts';
import { spentText } from './model-limits.ts';
import { modelMove } from './model-loop.ts';
import type { EmbedRequest, ModelRequest, Move, ToolRequest } from './move.ts';
import { procedureMove } from './procedure.ts';
import { checkDrafts, isProvisioning, startDrafts, unwell } from './provisioning.ts';
import { askDrafts, askingOf, isQuestion, questionDrafts } from './questions.ts';
import { recoveryMove } from './recovery.ts';
import { deliveriesOf } from './requests.ts';
import { awaitsEarlier, resumed, resumedAgent } from './resume.ts';
import { type AgentEntry, initialState, type PoolState, timerOf, wallTimerOf } from './state.ts';

export type { PoolState } from './state.ts';

/** A pool needs nothing from outside the log. */
export type PoolFacts = JsonObject;

/** One agent with all that its next move depends on. */
type Case = Readonly<{
  session: string;
  nowMs: number;
  pool: string;
  agent: string;
  entry: AgentEntry;
  definition: AgentDefinition;
  state: PoolState;
}>;

/** An alias of several models is the gateway's to resolve. */
function resolveModel(state: PoolState, model: string): string {
  const route = memberOf(state.models, model);
  return typeof route === 'string' ? route : model;
}

function moveOf({ definition: template, entry, state }: Case): Move {
  const definition = withColleagues(template, state);
  const asked = recoveryMove(definition, entry);
  if (asked !== undefined) return asked;
  const scope = { input: entry.input, context: state.context };
  return definition.kind === 'procedure'
    ? procedureMove(definition, entry, scope)
    : modelMove(definition, entry, scope);
}

function toolDrafts(at: Case, requests: readonly ToolRequest[]): Draft[] {
  const { session, agent, entry, definition } = at;
  const { task, attempt, name: agentName } = entry;
  const giver = new WorkGiver(at, requests.length);
  return requests.flatMap((request, index) => {
    const { step, tool, arguments: given, modelCallId } = request;
    const call = callId(session, agent, entry.calls + index + 1);
    const givenAway = giver.draftsOf(call, request);
    if (givenAway !== undefined) return givenAway;
    if (isQuestion(definition, request)) return askDrafts(at, call, askingOf(request));
    const head = { call, agent, task, attempt, step, agentName, tool };
    const data = modelCallId === undefined ? head : { ...head, modelCallId };
    return event('tool.requested', data, { arguments: json(given) });
  });
}

/** The model of a request: the agent's own, one that takes over, or the one that sums up. */
function modelOf(
  { recovery }: AgentEntry,
  definition: ModelAgent,
  { summarises, fallback }: ModelRequest,
): string {
  if (summarises !== undefined) return definition.context?.summary.model ?? definition.model;
  const others = definition.onError?.models ?? [];
  const own = recovery?.model ?? definition.model;
  return fallback === undefined ? own : (others[fallback - 1] ?? own);
}

/** What a request says beside its messages, where there is something to say. */
function requestNotes({ repair, fallback, omit, contextTokens, summarises }: ModelRequest) {
  return {
    ...(repair === undefined ? {} : { repair }),
    ...(fallback === undefined ? {} : { fallback }),
    ...(omit === undefined ? {} : { omit: [...omit] }),
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(summarises === undefined ? {} : { summarises: [...summarises] }),
  };
}

function modelDrafts(at: Case, move: ModelRequest): Draft[] {
  const { session, agent, entry, definition, state } = at;
  if (definition.kind !== 'model') return [];
  const { task, attempt, name: agentName } = entry;
  const isSummary = move.summarises !== undefined;
  const data = {
    call: callId(session, agent, entry.calls + 1),
    ...{ agent, task, attempt, step: move.step, agentName },
    model: resolveModel(state, modelOf(entry, definition, move)),
    outputTokensMax: isSummary
      ? (definition.context?.summary.outputTokensMax ?? definition.outputTokensMax)
      : definition.outputTokensMax,
    timeoutMs: definition.modelTimeoutMs,
    tools: isSummary ? [] : [...definition.tools],
    ...requestNotes(move),
    // The gateway has no conversation of this agent before its first request.
    ...(entry.continues === undefined || entry.usage.modelCalls > 0
      ? {}
      : { resumes: entry.continues }),
  };
  const messages = json(move.messages as unknown as JsonValue);
  const said = move.note === undefined ? { messages } : { messages, note: text(move.note) };
  // The gateway keeps the input; it is said with the first step only.
  const begins = move.step === 1 || move.step === (entry.handed?.steps ?? 0) + 1;
  const content = !begins ? said : { ...said, input: json(entry.input) };
  return [event('model.requested', data, content)];
}

function embedDrafts(at: Case, { step, texts, embedding }: EmbedRequest): Draft[] {
  const { session, agent, entry, state } = at;
  const { task, attempt, name: agentName } = entry;
  const { model, timeoutMs, cacheMs } = embedding;
  const data = {
    call: callId(session, agent, entry.calls + 1),
    ...{ agent, task, attempt, step, agentName, model: resolveModel(state, model) },
    ...{ outputTokensMax: 0, timeoutMs, tools: [], embeds: texts.length },
    ...(cacheMs === undefined ? {} : { cacheMs }),
  };
  return [event('model.requested', data, { messages: json([]), texts: json([...texts]) })];
}

function moveDrafts(at: Case): Draft[] {
  const { agent, entry, nowMs } = at;
  const move = moveOf(at);
  switch (move.kind) {
    case 'call-tools':
      return toolDrafts(at, move.requests);
    case 'ask-model':
      return modelDrafts(at, move);
    case 'embed':
      return embedDrafts(at, move);
    case 'wait': {
      const timer = timerOf(agent, entry.usage.modelCalls);
      return [event('timer.set', { timer, dueAtMs: nowMs + move.delayMs })];
    }
    case 'ask-person': {
      const { kind: _kind, ...asking } = move;
      const id = callId(at.session, agent, entry.calls + 1);
      return askDrafts(at, id, { ...asking, step: entry.usage.steps });
    }
    case 'complete':
      return completeDrafts(agent, entry, move.output);
    case 'fail':
      return failDrafts(at, move.failure);
  }
}

function beginDrafts(at: Case): Draft[] {
  const { agent, entry, definition, pool } = at;
  const { task, attempt } = entry;
  const { name, version, kind, form, wallTimeMs } = definition;
  const named = { agent, task, attempt, name, version, kind, pool };
  const digest = form === undefined ? {} : { digest: hashOf(definition) };
  const resumes = resumedAgent(at.state, entry);
  const created = { ...named, ...digest, ...(resumes === undefined ? {} : { resumes }) };
  const timer = wallTimerOf(agent);
  const dueAtMs = at.nowMs + (wallTimeMs ?? 0);
  const wall = wallTimeMs === undefined ? [] : [event('timer.set', { timer, dueAtMs })];
  const checks = checkDrafts(at);
  if (checks.length > 0) return [event('agent.created', created), ...wall, ...checks];
  const begun = { ...at, entry: resumed(at.state, entry) ?? entry };
  return [event('agent.created', created), ...startDrafts(at), ...wall, ...moveDrafts(begun)];
}

/** An agent that asked its servers ends with the first that is not well, and begins when all are (W5). */
function askedDrafts(at: Case): Draft[] {
  const failure = unwell(at.definition, at.entry);
  if (failure !== undefined) return failDrafts(at, failure);
  return at.entry.machine?.value === 'checked' ? [...startDrafts(at), ...moveDrafts(at)] : [];
}

function withoutDefinition(agent: string, entry: AgentEntry): Draft[] {
  const message =
    `Task "${entry.task}" names the agent "${entry.name}", which the accepted plan does not pin. ` +
    'Add the agent, or correct its name in the plan.';
  const failure = { code: 'AGENT_UNKNOWN', class: 'not-found', retryable: false, message } as const;
  return [taskFailedDraft(agent, entry, failure)];
}

function outOfTime(at: Case): Draft[] {
  const { entry, definition } = at;
  const message =
    `Agent "${definition.name}" did not end within its ${definition.wallTimeMs} ms (wallTimeMs). ` +
    `Raise the limit, or give it a smaller task. So far: ${spentText(entry.usage)}.`;
  return failDrafts(at, {
    code: 'WALL_TIME',
    class: 'timeout',
    retryable: true,
    message,
  });
}

const endedOf = (state: PoolState, { task, attempt }: AgentEntry): EndedBecause | undefined =>
  endedBecause(state.ended, task, attempt);

/** What was settled about questions and delegates, and what follows from it. */
function afterSettled(state: PoolState, at: Case, settled: readonly Draft[]): Draft[] {
  const proposal = beginProposal(state, (now, seen) => evolve(now, seen, at.pool));
  for (const draft of settled) proposal.write(draft);
  const entry = memberOf(proposal.state.agents, at.agent);
  if (entry === undefined) return [...proposal.drafts];
  return [...proposal.drafts, ...agentDrafts(proposal.state, [at.agent, entry], at)];
}

const live = ['created', 'provisioning', 'checked', 'provisioned', 'running', 'waiting'];
const liveStates = new Set(live);

function agentDrafts(
  state: PoolState,
  [agent, entry]: readonly [string, AgentEntry],
  at: Pick<Case, 'session' | 'nowMs' | 'pool'>,
): Draft[] {
  const { machine } = entry;
  const because = endedOf(state, entry);
  if (because !== undefined) {
    return machine !== undefined && liveStates.has(machine.value)
      ? cancelDrafts({ agent, entry, state }, because)
      : [];
  }
  const definition = memberOf(state.definitions, entry.name);
  if (definition === undefined) return machine === undefined ? withoutDefinition(agent, entry) : [];
  const { session, nowMs, pool } = at;
  const one: Case = { session, nowMs, pool, agent, entry, definition, state };
  if (machine === undefined) return awaitsEarlier(state, entry) ? [] : beginDrafts(one);
  if (entry.wall?.fired === true && liveStates.has(machine.value)) return outOfTime(one);
  if (isProvisioning(entry)) return askedDrafts(one);
  const settled = [...questionDrafts(one), ...delegationDrafts(one)];
  if (settled.length > 0) return afterSettled(state, one, settled);
  return machine.value === 'running' ? moveDrafts(one) : [];
}

/** Until nothing more follows: own events are no causes, and the end of a delegate moves who waits for it. */
function delegatingDrafts(start: PoolState, at: Pick<Case, 'session' | 'nowMs' | 'pool'>): Draft[] {
  const proposal = beginProposal(start, (now, seen) => evolve(now, seen, at.pool));
  let before: number;
  do {
    before = proposal.drafts.length;
    for (const [agent] of sortedEntries(proposal.state.agents)) {
      const entry = memberOf(proposal.state.agents, agent);
      const drafts = entry === undefined ? [] : agentDrafts(proposal.state, [agent, entry], at);
      for (const draft of drafts) proposal.follow(draft);
    }
  } while (proposal.drafts.length > before);
  return [...proposal.drafts];
}

/** The logic of the pool with this name; its service is `worker-pool:<pool>`. */
export function createWorkerPoolLogic(pool: string): ServiceLogic<PoolState, PoolFacts> {
  return {
    name: `worker-pool:${pool}`,
    behaviour: 1,
    fold: 1,
    machines: { [agentFold.id]: sha256(agentFold.definition) },
    initial: () => initialState,
    evolve: (state, seen) => evolve(state, seen, pool),
    answers: (seen) => isCause(seen, pool),
    decide(state: PoolState, input: DecideInput<PoolFacts>) {
      const at = { session: input.session.session, nowMs: input.nowMs, pool };
      if (state.delegations !== undefined) return delegatingDrafts(state, at);
      const drafts: Draft[] = [];
      for (const entry of sortedEntries(state.agents))
        drafts.push(...agentDrafts(state, entry, at));
      return drafts;
    },
    deliveries: deliveriesOf,
  };
}
