import type { SeenEvent } from '../../../schemas/event.ts';
import type { Counter, Histogram, Meter } from './meter.ts';
import { metrics } from './metrics.ts';
import { RecentMap } from './recent-map.ts';

/** Effective events of one record, as a host folded them. */
export type SeenEvents = Readonly<{
  session: string;
  /** The service that wrote the record, or the source of an input. */
  service: string;
  /** This process wrote it after it had the partition: only then it is counted here. */
  own: boolean;
  events: readonly SeenEvent[];
}>;

/** A call as it is known here: who asked, when, and whether somebody has claimed it and not answered. */
type Call = { readonly atMs: number; readonly agent: Agent | undefined; claimed: boolean };

/** A running agent, and the time in which something worked for it. */
type Agent = { readonly startedAtMs: number; busyMs: number; busyUntilMs: number };

/** Enough for every session that moves in one process; older ones are left out of durations. */
const rememberedMax = 20_000;
const nanoPerUsd = 1_000_000_000;

const agentKey = (session: string, agent: string): string => `${session}/${agent}`;

type Usage = Readonly<{
  model: string;
  durationMs: number;
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  costNanoUsd?: number;
}>;

/**
 * Counts what happens, from the events themselves: what is counted is in the log. Events of others are looked at only
 * for what durations need (when a session was opened, when a call was asked for).
 */
export class EventFigures {
  private readonly opened = new RecentMap<number>(rememberedMax);
  private readonly calls = new RecentMap<Call>(rememberedMax);
  private readonly agents = new RecentMap<Agent>(rememberedMax);
  private readonly counters: Readonly<Record<CounterName, Counter>>;
  private readonly spreads: Readonly<Record<SpreadName, Histogram>>;

  constructor(meter: Meter) {
    this.counters = Object.fromEntries(
      counterNames.map((name) => [name, meter.counter(metrics[name])]),
    ) as Record<CounterName, Counter>;
    this.spreads = Object.fromEntries(
      spreadNames.map((name) => [name, meter.histogram(metrics[name])]),
    ) as Record<SpreadName, Histogram>;
    // A series that begins at 1 has never grown, to who asks for its growth.
    for (const end of ['completed', 'failed', 'cancelled']) this.counters.sessionsEnded.add(0, end);
    this.counters.templatesSuspended.add(0);
  }

  saw({ session, service, own, events }: SeenEvents): void {
    if (own) this.counters.events.add(events.length, service);
    for (const seen of events) {
      this.follow(session, seen, own);
      if (own) this.count(session, seen);
      this.forget(session, seen);
    }
  }

  /** What durations are measured from. */
  private follow(session: string, seen: SeenEvent, own: boolean): void {
    switch (seen.type) {
      case 'session.opened':
        this.opened.set(session, seen.data.openedAtMs);
        break;
      case 'agent.started': {
        const started = { startedAtMs: seen.atMs, busyMs: 0, busyUntilMs: seen.atMs };
        this.agents.set(agentKey(session, seen.data.agent), started);
        break;
      }
      case 'tool.requested':
      case 'model.requested': {
        const agent = this.agents.get(agentKey(session, seen.data.agent ?? ''));
        this.calls.set(seen.data.call, { atMs: seen.atMs, agent, claimed: false });
        break;
      }
      case 'tool.claimed':
      case 'model.claimed':
        this.claimed(seen.data.call, own);
        break;
      case 'tool.completed':
      case 'tool.failed':
      case 'model.completed':
      case 'model.failed':
      case 'model.attempt-failed':
        this.worked(seen.data, seen.atMs);
        break;
      default:
        break;
    }
  }

  private claimed(call: string, own: boolean): void {
    const known = this.calls.get(call);
    if (own) this.counters.steps.add(1);
    if (own && known?.claimed === true) this.counters.stepsRepeated.add(1);
    if (known !== undefined) known.claimed = true;
  }

  /** Outcomes come in order of their ends, so only the newest end has to be known to count no moment twice. */
  private worked({ call, durationMs }: { call: string; durationMs: number }, atMs: number): void {
    const known = this.calls.get(call);
    if (known === undefined) return;
    known.claimed = false;
    const { agent } = known;
    if (agent === undefined) return;
    agent.busyMs += Math.max(0, atMs - Math.max(atMs - durationMs, agent.busyUntilMs));
    agent.busyUntilMs = Math.max(agent.busyUntilMs, atMs);
  }

  private count(session: string, seen: SeenEvent): void {
    const { counters } = this;
    switch (seen.type) {
      case 'goal.admitted':
        counters.sessionsOpened.add(1, seen.data.lane);
        break;
      case 'goal.rejected':
        counters.goalsRejected.add(1);
        break;
      case 'session.completed':
      case 'session.failed':
      case 'session.cancelled':
        this.ended(session, seen);
        break;
      case 'decision.failed':
        counters.decisionsFailed.add(1, seen.data.service);
        break;
      case 'tool.unknown':
        counters.stepsLost.add(1);
        counters.toolCallsSuspended.add(0, seen.data.tool);
        break;
      case 'task.retry-scheduled':
        if (seen.data.recovery !== undefined) counters.recoveries.add(1, seen.data.recovery.step);
        break;
      case 'template.suspended':
        counters.templatesSuspended.add(1);
        break;
      case 'template.resumed':
        counters.templatesResumed.add(1);
        break;
      case 'tool.completed':
      case 'tool.failed':
        this.toolEnded(seen);
        break;
      case 'model.completed':
      case 'model.failed':
      case 'model.attempt-failed':
        this.modelEnded(seen.data, outcomeOf(seen.type));
        break;
      case 'agent.completed':
      case 'agent.failed':
      case 'agent.cancelled':
        this.agentEnded(session, seen);
        break;
      default:
        break;
    }
  }

  private ended(session: string, { type, atMs }: SeenEvent): void {
    const outcome = outcomeOf(type);
    this.counters.sessionsEnded.add(1, outcome);
    const openedAtMs = this.opened.get(session);
    if (openedAtMs === undefined) return;
    this.spreads.sessionDuration.observe(secondsOf(atMs - openedAtMs), outcome);
  }

  private toolEnded(seen: SeenEvent<'tool.completed'> | SeenEvent<'tool.failed'>): void {
    const { call, tool, durationMs } = seen.data;
    // It says nothing of how the tool does: it was not called.
    if (seen.type === 'tool.failed' && seen.data.code === 'TOOL_SUSPENDED') {
      this.counters.toolCallsSuspended.add(1, tool);
      return;
    }
    if (seen.type === 'tool.failed') this.counters.toolCallsSuspended.add(0, tool);
    this.spreads.toolDuration.observe(secondsOf(durationMs), tool, outcomeOf(seen.type));
    const asked = this.calls.get(call);
    if (asked !== undefined)
      this.spreads.toolRoundTrip.observe(secondsOf(seen.atMs - asked.atMs), tool);
  }

  private modelEnded(usage: Usage, outcome: string): void {
    const { model } = usage;
    this.spreads.inferenceDuration.observe(secondsOf(usage.durationMs), model, outcome);
    for (const name of tokenNames) this.counters[name].add(usage[name] ?? 0, model);
    this.counters.cost.add((usage.costNanoUsd ?? 0) / nanoPerUsd, model);
  }

  private agentEnded(session: string, seen: SeenEvent<AgentEnd>): void {
    const agent = this.agents.get(agentKey(session, seen.data.agent));
    if (agent === undefined) return;
    const tookMs = Math.max(0, seen.atMs - agent.startedAtMs);
    this.spreads.agentDuration.observe(secondsOf(tookMs), outcomeOf(seen.type));
    this.counters.agentIdle.add(secondsOf(tookMs - agent.busyMs));
  }

  private forget(session: string, seen: SeenEvent): void {
    if (seen.type === 'session.closed') this.opened.delete(session);
    if (seen.type === 'tool.completed' || seen.type === 'tool.failed' || isLastOfModel(seen.type))
      this.calls.delete((seen.data as { call: string }).call);
    if (agentEnds.has(seen.type))
      this.agents.delete(agentKey(session, (seen.data as { agent: string }).agent));
  }
}

type AgentEnd = 'agent.completed' | 'agent.failed' | 'agent.cancelled';
const agentEnds: ReadonlySet<string> = new Set<AgentEnd>([
  'agent.completed',
  'agent.failed',
  'agent.cancelled',
]);

/** A try that failed is followed by another one of the same call. */
const isLastOfModel = (type: string): boolean =>
  type === 'model.completed' || type === 'model.failed';

/** `completed` of `session.completed`. */
function outcomeOf(type: string): string {
  const known = outcomeNames.get(type);
  return known ?? type;
}

const outcomeNames: ReadonlyMap<string, string> = new Map(
  ['session', 'tool', 'model', 'agent'].flatMap((what) => [
    ...['completed', 'failed', 'cancelled'].map((end) => [`${what}.${end}`, end] as const),
    [`${what}.attempt-failed`, 'failed'] as const,
  ]),
);

const secondsOf = (ms: number): number => Math.max(0, ms) / 1_000;

const tokenNames = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
] as const;
const counterNames = [
  ...tokenNames,
  ...(['events', 'goalsRejected', 'sessionsOpened', 'sessionsEnded', 'cost'] as const),
  ...(['agentIdle', 'steps', 'stepsLost', 'stepsRepeated', 'decisionsFailed'] as const),
  ...(['recoveries', 'templatesSuspended', 'templatesResumed', 'toolCallsSuspended'] as const),
] as const;
const spreadNames = [
  'sessionDuration',
  'inferenceDuration',
  'toolDuration',
  'toolRoundTrip',
  'agentDuration',
] as const;
type CounterName = (typeof counterNames)[number];
type SpreadName = (typeof spreadNames)[number];
