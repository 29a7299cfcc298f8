import type { EventAddress, SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { addressOf } from '../../services/chassis/protocol/service-logic.ts';
import { agentOfTimer } from '../../services/worker-pool/state.ts';
import { isPlaced, type JudgedRecord, type JudgedSession } from './session.ts';

/** The events of a session that count, in order, with what each one is about. Made once, asked often. */

/** What an event is about; members are absent where it says nothing of them, not even through its call. */
export type Scope = Readonly<{
  task?: string;
  attempt?: number;
  agent?: string;
  call?: string;
}>;

export type Happening = Readonly<{
  event: SeenEvent;
  offset: number;
  /** `offset.index`, as people name an event. */
  place: string;
  /** `record#index`, as the log names it. */
  address: string;
  /** Who decided it, or who wrote the input. */
  who: string;
  /** Whether it came from outside: an outcome, a timer, a person. */
  isInput: boolean;
  /** Addresses of the events that made its service decide; empty for an input. */
  causes: readonly string[];
  scope: Scope;
}>;

/** The data of any event, by the names of its members. */
export const dataOf = ({ event }: Pick<Happening, 'event'>): JsonObject =>
  event.data as unknown as JsonObject;

/** A member of the data that is text; empty where there is none. */
export function textIn(of: Pick<Happening, 'event'>, name: string): string {
  const value = dataOf(of)[name];
  return typeof value === 'string' ? value : '';
}

/** A member of the data that is a number; undefined where there is none. */
export function numberIn(of: Pick<Happening, 'event'>, name: string): number | undefined {
  const value = dataOf(of)[name];
  return typeof value === 'number' ? value : undefined;
}

/** What calls and agents belong to, learned from the events that name them together. */
const taskTimer = /^supervisor\/(?:task|retry)\/(.+)\/(\d+)$/;

/** What a timer is about, by its name. */
function scopeOfTimer(timer: string): Scope {
  const agent = agentOfTimer(timer);
  if (agent !== undefined) return { agent };
  const [, task, attempt] = taskTimer.exec(timer) ?? [];
  return task === undefined ? {} : { task, attempt: Number(attempt) };
}

class Scopes {
  private readonly calls = new Map<string, Scope>();
  private readonly agents = new Map<string, Scope>();

  of(event: SeenEvent): Scope {
    const at = { event };
    const call = textIn(at, 'call');
    // There it is the name of a template.
    const agent = event.type === 'task.scheduled' ? '' : textIn(at, 'agent');
    const task = textIn(at, 'task');
    const own = {
      ...(task === '' ? {} : { task, ...this.attemptOf(event) }),
      ...(agent === '' ? {} : { agent }),
      ...(call === '' ? {} : { call }),
    };
    const timed = scopeOfTimer(textIn(at, 'timer'));
    const known = {
      ...timed,
      ...this.agents.get(agent === '' ? (timed.agent ?? '') : agent),
      ...this.calls.get(call),
    };
    const scope = { ...known, ...own };
    if (agent !== '' && task !== '') this.agents.set(agent, { ...own });
    if (call !== '' && event.type.endsWith('.requested')) this.calls.set(call, scope);
    return scope;
  }

  /** `attempt` is of the task where the event names one, and of the claim where it names a call only. */
  private attemptOf(event: SeenEvent): Scope {
    const attempt = numberIn({ event }, 'attempt');
    return attempt === undefined ? {} : { attempt };
  }
}

function causesIn({ record }: JudgedRecord): readonly string[] {
  if (!isPlaced(record) || record.body.kind !== 'turn') return [];
  return record.body.causes.map(addressOf);
}

export class History {
  readonly entries: readonly Happening[];
  readonly judged: JudgedSession;
  private readonly byAddress = new Map<string, Happening>();

  constructor(judged: JudgedSession) {
    this.judged = judged;
    const scopes = new Scopes();
    this.entries = judged.records.flatMap((one) => {
      const causes = causesIn(one);
      return (one.step?.events ?? []).map((event) => {
        const isInput = event.service === 'input';
        const { offset, header } = one.record;
        const made: Happening = {
          ...{ event, offset, isInput, causes },
          place: `${offset}.${event.index}`,
          address: addressOf(event),
          who: isInput ? header.service : event.service,
          scope: scopes.of(event),
        };
        this.byAddress.set(made.address, made);
        return made;
      });
    });
  }

  /** How the session is called; a fork has an id of its own. */
  get session(): string {
    const { fork, session } = this.judged.source;
    return fork?.session ?? session;
  }

  /** Time of the first event, in milliseconds since 1970. */
  get openedAtMs(): number {
    return this.entries[0]?.event.atMs ?? 0;
  }

  at(address: string | EventAddress): Happening | undefined {
    return this.byAddress.get(typeof address === 'string' ? address : addressOf(address));
  }

  /** Events of one record, in order. */
  ofRecord(record: string): readonly Happening[] {
    return this.entries.filter(({ event }) => event.record === record);
  }

  ofType(...types: readonly SeenEvent['type'][]): readonly Happening[] {
    const wanted: ReadonlySet<string> = new Set(types);
    return this.entries.filter(({ event }) => wanted.has(event.type));
  }

  /** The newest event before this one that holds. */
  before(one: Happening, holds: (other: Happening) => boolean): Happening | undefined {
    const at = this.entries.indexOf(one);
    return this.entries.slice(0, Math.max(0, at)).findLast(holds);
  }
}
