import type { EventAddress, SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { pastOf } from '../../services/chassis/protocol/forked-past.ts';
import type { PlacedRecord } from '../../services/chassis/protocol/record.ts';
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
  /** `offset.index`, as people name an event; `~offset.index` in the past that a fork shares. */
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

type Brought = Readonly<{
  record: PlacedRecord | JudgedRecord['record'];
  events: readonly SeenEvent[];
}>;

function causesIn({ record }: Brought): readonly string[] {
  if (!isPlaced(record) || record.body.kind !== 'turn') return [];
  return record.body.causes.map(addressOf);
}

function happeningsIn(one: Brought, scopes: Scopes, mark: '' | '~'): Happening[] {
  const causes = causesIn(one);
  const { offset, header } = one.record;
  return one.events.map((event) => {
    const isInput = event.service === 'input';
    return {
      ...{ event, offset, isInput, causes },
      place: `${mark}${offset}.${event.index}`,
      address: addressOf(event),
      who: isInput ? header.service : event.service,
      scope: scopes.of(event),
    };
  });
}

/** What a fork that runs live shares with another session, as the fork sees it. */
function sharedIn({ record, step }: JudgedRecord): readonly Brought[] {
  const [opening] = step?.events ?? [];
  if (opening?.type !== 'session.forked' || !isPlaced(record)) return [];
  const steps = pastOf(record, opening)?.steps('') ?? [];
  return steps.map((one) => ({ record: one.record, events: one.step.events }));
}

export class History {
  /** What the session did itself. */
  readonly entries: readonly Happening[];
  /** The past that it shares with another session before that; empty but for a fork that runs live. */
  readonly shared: readonly Happening[];
  readonly judged: JudgedSession;
  private readonly byAddress = new Map<string, Happening>();

  constructor(judged: JudgedSession) {
    this.judged = judged;
    const scopes = new Scopes();
    const { records } = judged;
    const past = records[0] === undefined ? [] : sharedIn(records[0]);
    this.shared = past.flatMap((one) => happeningsIn(one, scopes, '~'));
    this.entries = records.flatMap(({ record, step }) =>
      happeningsIn({ record, events: step?.events ?? [] }, scopes, ''),
    );
    for (const made of this.whole) this.byAddress.set(made.address, made);
  }

  /** Both, in order. */
  get whole(): readonly Happening[] {
    return this.shared.length === 0 ? this.entries : [...this.shared, ...this.entries];
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
    return this.whole.filter(({ event }) => event.record === record);
  }

  ofType(...types: readonly SeenEvent['type'][]): readonly Happening[] {
    const wanted: ReadonlySet<string> = new Set(types);
    return this.whole.filter(({ event }) => wanted.has(event.type));
  }

  /** The newest event before this one that holds. */
  before(one: Happening, holds: (other: Happening) => boolean): Happening | undefined {
    const { whole } = this;
    return whole.slice(0, Math.max(0, whole.indexOf(one))).findLast(holds);
  }
}
