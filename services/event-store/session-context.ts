import type { JsonObject } from '../../schemas/json.ts';
import { textOf, wholeOf } from './column-values.ts';
import { isObject } from './decoded-record.ts';
import type { EventRow } from './row.ts';

/**
 * What the row of an event says beyond the event itself: who asked for the call, under which task,
 * since when. An answer names only its call, and people ask for what an agent cost. All of it stands
 * in earlier events of the same open session, so whoever reads that session from its beginning
 * fills the same columns.
 */
export type EventContext = Partial<
  Pick<
    EventRow,
    | 'taskId'
    | 'attempt'
    | 'taskAttempt'
    | 'agentId'
    | 'agentType'
    | 'pool'
    | 'step'
    | 'tool'
    | 'toolVersion'
    | 'sandboxId'
    | 'release'
    | 'requestedAtMs'
  >
>;

type Source = Readonly<{ type: string; data: JsonObject; release: string; atMs: number }>;

/** Claims count anew with every try of a call. */
const triesOf = (data: JsonObject): number =>
  Math.max(1, wholeOf(data.try)) + Math.max(1, wholeOf(data.attempt)) - 1;

/** So many calls of one session are remembered, the newest. */
const callsMax = 10_000;

/** The contexts of one open session, from its effective events in order. */
export class SessionContext {
  private readonly tasks = new Map<string, EventContext>();
  private readonly agents = new Map<string, EventContext>();
  private readonly calls = new Map<string, EventContext>();

  /** Takes an event that counts. */
  take(source: Source): void {
    const { type, data } = source;
    if (type === 'task.scheduled') this.scheduled(data);
    else if (type === 'agent.created') this.created(data);
    else if (type === 'session.forked') this.forked(source);
    else if (type === 'model.requested' || type === 'tool.requested') this.requested(source);
    else if (type === 'tool.permitted') this.more(data, { toolVersion: textOf(data.toolVersion) });
    else if (type === 'sandbox.leased') this.more(data, { sandboxId: textOf(data.sandbox) });
    else if (type === 'model.claimed' || type === 'tool.claimed')
      this.more(data, { release: source.release, attempt: triesOf(data) });
  }

  /** What is known about an event at its place; undefined where it is nothing. */
  of({ type, data }: Pick<Source, 'type' | 'data'>): EventContext | undefined {
    const call = this.calls.get(textOf(data.call));
    if (call !== undefined) return call;
    // In a scheduling the agent is a template.
    const agent = type === 'task.scheduled' ? undefined : this.agents.get(textOf(data.agent));
    return agent ?? this.tasks.get(textOf(data.task));
  }

  private scheduled(data: JsonObject): void {
    const context = { pool: textOf(data.pool), agentType: textOf(data.agent) };
    this.tasks.set(textOf(data.task), { ...context, taskAttempt: wholeOf(data.attempt) });
  }

  private created(data: JsonObject): void {
    const taskId = textOf(data.task);
    const pool = textOf(data.pool) || (this.tasks.get(taskId)?.pool ?? '');
    const agentId = textOf(data.agent);
    const taskAttempt = wholeOf(data.attempt);
    this.agents.set(agentId, { agentId, agentType: textOf(data.name), taskId, taskAttempt, pool });
  }

  /** What was under way in the past that it shares: its answers come here. */
  private forked({ data, atMs, release }: Source): void {
    const calls = Array.isArray(data.calls) ? data.calls.filter(isObject) : [];
    for (const call of calls as readonly JsonObject[]) {
      const [agentId, taskId] = [textOf(call.agent), textOf(call.task)];
      const [agentType, pool] = [textOf(call.agentName), textOf(call.pool)];
      const taskAttempt = wholeOf(call.attempt);
      if (agentId !== '')
        this.agents.set(agentId, { agentId, agentType, taskId, taskAttempt, pool });
      this.requested({ type: 'call', data: call, release, atMs });
    }
  }

  private requested({ data, atMs }: Source): void {
    const call = textOf(data.call);
    const { pool = '' } = this.of({ type: '', data: { agent: data.agent ?? '' } }) ?? {};
    const context: EventContext = {
      ...{ taskId: textOf(data.task), taskAttempt: wholeOf(data.attempt) },
      ...{ agentId: textOf(data.agent), agentType: textOf(data.agentName), pool },
      ...{ step: wholeOf(data.step), tool: textOf(data.tool), requestedAtMs: atMs },
    };
    this.calls.set(call, context);
    if (this.calls.size <= callsMax) return;
    for (const oldest of this.calls.keys()) {
      this.calls.delete(oldest);
      return;
    }
  }

  private more(data: JsonObject, values: EventContext): void {
    const call = textOf(data.call);
    const known = this.calls.get(call);
    if (known !== undefined) this.calls.set(call, { ...known, ...values });
  }
}

/** The events of a record's body with what belongs to them, whatever stands there. */
export const sourcesOf = (body: object, atMs: number): readonly Source[] => {
  const { events, event, release } = body as Record<string, unknown>;
  const all = Array.isArray(events) ? events : [event];
  return all.filter(isObject).map((one) => ({
    type: textOf(one.type),
    data: isObject(one.data) ? one.data : {},
    release: textOf(release),
    atMs,
  }));
};
