import type { SeenEvent } from '../../../schemas/event.ts';
import { RecentMap } from '../telemetry/recent-map.ts';
import { agentAttributes, type CallNote, noteOf } from '../telemetry/span-attributes.ts';
import type { HostPorts } from './ports.ts';

type Agent = Readonly<{ name: string; startedAtMs: number; traceparent: string }>;
type Place = Readonly<{ session: string; traceparent: string; own: boolean }>;

/** Calls and agents of a partition that are remembered for their spans; older ones have fewer attributes. */
const rememberedMax = 5_000;

const keyOf = (session: string, agent: string): string => `${session}/${agent}`;

/**
 * What spans say and claims do not: which agent asked, the hash of what it asked for, and when an agent began. Kept only
 * where a tracing system listens.
 */
export class CallNotes {
  private readonly calls = new RecentMap<CallNote>(rememberedMax);
  private readonly names = new RecentMap<string>(rememberedMax);
  private readonly agents = new RecentMap<Agent>(rememberedMax);
  private readonly tracer: HostPorts['tracer'];

  constructor({ tracer }: Pick<HostPorts, 'tracer'>) {
    this.tracer = tracer;
  }

  of(call: string): CallNote | undefined {
    return this.calls.get(call);
  }

  saw(events: readonly SeenEvent[], at: Place): void {
    if (this.tracer.past === undefined) return;
    for (const seen of events) {
      const note = noteOf(seen);
      if (note !== undefined) this.calls.set((seen.data as { call: string }).call, note);
      else this.follow(seen, at);
    }
  }

  private follow(seen: SeenEvent, at: Place): void {
    switch (seen.type) {
      case 'agent.created':
        this.names.set(keyOf(at.session, seen.data.agent), seen.data.name);
        break;
      case 'agent.started': {
        const key = keyOf(at.session, seen.data.agent);
        const agent = { startedAtMs: seen.atMs, traceparent: at.traceparent };
        this.agents.set(key, { ...agent, name: this.names.get(key) ?? seen.data.agent });
        break;
      }
      case 'agent.completed':
      case 'agent.failed':
      case 'agent.cancelled':
        this.ended(seen, seen.data.agent, at);
        break;
    }
  }

  private ended(seen: SeenEvent, id: string, { session, own }: Place): void {
    const key = keyOf(session, id);
    const agent = this.agents.get(key);
    this.agents.delete(key);
    this.names.delete(key);
    if (agent === undefined || !own) return;
    const { name, startedAtMs, traceparent } = agent;
    const { code } = seen.data as { code?: string };
    this.tracer.past?.(`invoke_agent ${name}`, {
      ...{ parent: traceparent, startMs: startedAtMs, endMs: seen.atMs },
      attributes: () => agentAttributes(seen, { session, agentName: name }),
      ...(code === undefined ? {} : { error: code }),
    });
  }
}
