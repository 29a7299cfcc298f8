/**
 * Work that an agent gives to another one. Each is a task, which the supervisor schedules like those of the plan; what it
 * comes to is the result of the call.
 *
 * G1 Only what the agent's template allows becomes a task; the guard says of anything else what is wrong with it.
 * G2 An agent that hands its task on ends with that turn. Its task goes on, and comes to what the other one's comes to.
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import { type DataOf, type Draft, event, json } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { builtInTools } from '../chassis/catalog/built-in-tools.ts';
import { delegatedId } from '../chassis/catalog/child-task.ts';
import { delegate, handoff } from '../chassis/catalog/delegation-tools.ts';
import { depthMaxOf, type Giving, givesWork, refusalOf } from '../chassis/effects/delegation.ts';
import { memberOf, sortedEntries } from '../chassis/effects/member.ts';
import { valueProblem } from '../chassis/value-problems.ts';
import { handOnDrafts } from './finish.ts';
import type { ToolRequest } from './move.ts';
import { type AgentEntry, lineageOf, type PoolState } from './state.ts';

export type Giver = Readonly<{
  agent: string;
  entry: AgentEntry;
  definition: AgentDefinition;
  state: PoolState;
}>;

type Delegated = DataOf<'task.delegated'>;

/** Gives work away, call by call of one answer: each takes a number, and money, from what those before it left. */
export class WorkGiver {
  private readonly at: Giver;
  /** Whether the answer has one call only. */
  private readonly alone: boolean;
  private made: number;
  private heldNanoUsd: number;

  constructor(at: Giver, calls: number) {
    this.at = at;
    this.alone = calls === 1;
    this.made = memberOf(at.state.delegated ?? {}, at.entry.task) ?? 0;
    this.heldNanoUsd = heldBy(at.state, at.agent);
  }

  /** The events of a call that gives work away; undefined where it is none, or may not be. */
  draftsOf(call: string, request: ToolRequest): Draft[] | undefined {
    if (!this.isProper(request)) return undefined;
    return request.tool === delegate ? this.delegate(call, request) : this.handOn(call, request);
  }

  private isProper({ tool, arguments: given }: ToolRequest): boolean {
    const { definition } = this.at;
    const schema = builtInTools[tool]?.inputSchema;
    if (!givesWork(tool) || schema === undefined || !definition.tools.includes(tool)) return false;
    if (valueProblem(schema, given, 'the arguments') !== undefined) return false;
    if (tool === handoff && !this.alone) return false;
    return refusalOf(this.giving(tool, given)) === undefined;
  }

  private giving(tool: string, given: JsonValue): Giving {
    const { definition: agent, entry, state } = this.at;
    const { task } = entry;
    const { made } = this;
    return { agent, tool, task, arguments: given, lineage: lineageOf(state, task), made };
  }

  private head(call: string, { step, tool, modelCallId, arguments: given }: ToolRequest) {
    const { agent, entry, state } = this.at;
    const { task, attempt, name: agentName } = entry;
    this.made += 1;
    const { depth, handoffs, depthMax } = lineageOf(state, task);
    return {
      ...{ delegated: delegatedId(task, this.made), ordinal: this.made, call, step },
      ...{ task, attempt, agent, agentName, to: String((given as JsonObject)['agent']) },
      ...(modelCallId === undefined ? {} : { modelCallId }),
      kind: tool === delegate ? ('delegate' as const) : ('handoff' as const),
      ...{ depth, handoffs, depthMax: depthMax ?? 0 },
    };
  }

  private delegate(call: string, request: ToolRequest): Draft[] {
    const { delegates } = this.at.definition;
    if (delegates === undefined) return [];
    const { goal, input = {}, budgetPercent } = request.arguments as JsonObject;
    const percent = Number(budgetPercent ?? delegates.budgetPercentMax);
    const giving = this.giving(request.tool, request.arguments);
    const head = this.head(call, request);
    const data: Delegated = {
      ...head,
      ...{ depth: head.depth + 1, depthMax: depthMaxOf(giving), handoffs: 0 },
      ...{ parallelMax: delegates.parallelMax, budgetPercent: percent },
      ...(delegates.timeoutMs === undefined ? {} : { timeoutMs: delegates.timeoutMs }),
      ...this.limitOf(percent),
    };
    const given: JsonObject = { ...(input as JsonObject), goal: goal ?? null };
    return [event('task.delegated', data, { input: json(given) })];
  }

  /** The part of the agent's own limit of costs, which its delegates spend too. */
  private limitOf(percent: number) {
    const { entry, definition } = this.at;
    if (definition.kind !== 'model' || definition.costNanoUsdMax === undefined) return {};
    const most = definition.costNanoUsdMax + (entry.raisedNanoUsd ?? 0);
    const left = most - spentBy(entry) - this.heldNanoUsd;
    const budgetNanoUsdMax = Math.max(0, Math.floor((left * percent) / 100));
    this.heldNanoUsd += budgetNanoUsdMax;
    return { budgetNanoUsdMax };
  }

  private handOn(call: string, request: ToolRequest): Draft[] {
    const { agent, entry, definition } = this.at;
    const { summary, input = {} } = request.arguments as JsonObject;
    const head = this.head(call, request);
    const talks = definition.handoffs?.with === 'conversation' && definition.kind === 'model';
    const data: Delegated = {
      ...head,
      handoffs: head.handoffs + 1,
      ...(talks ? { conversation: true } : {}),
    };
    const given: JsonObject = {
      ...(isObject(entry.input) ? entry.input : { input: entry.input }),
      ...(input as JsonObject),
      handoff: { from: definition.name, summary: summary ?? null },
    };
    return [event('task.delegated', data, { input: json(given) }), ...handOnDrafts(agent, entry)];
  }
}

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What an agent and its delegates have spent in this attempt. */
export const spentBy = ({ usage, delegatedNanoUsd = 0 }: AgentEntry): number =>
  usage.costNanoUsd + delegatedNanoUsd;

/** What is set aside of the agent's own limit for delegates that have not ended. */
function heldBy({ delegations = {} }: PoolState, agent: string): number {
  return Object.values(delegations)
    .filter((one) => one.agent === agent && one.kind === 'delegate')
    .reduce((sum, { budgetNanoUsdMax = 0 }) => sum + budgetNanoUsdMax, 0);
}

/** Says of every delegate of the agent that has ended that it has. */
export function delegationDrafts({ agent, state }: Giver): Draft[] {
  return sortedEntries(state.delegations ?? {}).flatMap(([delegated, one]) => {
    const { call, task, to, end, costNanoUsd } = one;
    if (one.agent !== agent || one.kind !== 'delegate' || end === undefined) return [];
    const outcome =
      'result' in end ? 'completed' : end.failure.class === 'cancelled' ? 'cancelled' : 'failed';
    const data = { call, agent, task, delegated, to, outcome, costNanoUsd } as const;
    const code = 'result' in end ? {} : { code: end.failure.code };
    return [event('delegation.settled', { ...data, ...code })];
  });
}

/** The template with what a model has to know of those to whom it may give work. */
export function withColleagues(definition: AgentDefinition, state: PoolState): AgentDefinition {
  const { delegates, handoffs } = definition;
  if (definition.kind !== 'model' || (delegates ?? handoffs) === undefined) return definition;
  const lines = (names: readonly string[]): string[] =>
    names.map((name) => `- ${name}: ${memberOf(state.definitions, name)?.description ?? ''}`);
  const to = delegates === undefined ? [] : ['Agents for delegate:', ...lines(delegates.agents)];
  const on = handoffs === undefined ? [] : ['Agents for handoff:', ...lines(handoffs.agents)];
  const system = [definition.system, [...to, ...on].join('\n')];
  return { ...definition, system: system.filter((part) => part !== '').join('\n\n') };
}
