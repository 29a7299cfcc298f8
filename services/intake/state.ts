import { bodyOf, type DataOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { debounceTimer, type Settling, settleLater, withoutGoal } from './debounce.ts';

/**
 * Intake works on logs of its own (DESIGN 3.8): a goal log follows one goal from its arrival to its end; a key log
 * gives the goals of one key their turns, one after another.
 */

type Ending = DataOf<'goal.ended'>['status'];

export type Signal = Readonly<{ signal: string; name: string; payload: JsonValue }>;

/** What a person answered to a question of the session. */
export type Answer = DataOf<'goal.answer-received'> &
  Readonly<{ value?: JsonValue; reason?: string }>;

export type GoalLog = Readonly<{
  kind: 'goal';
  received: DataOf<'goal.received'>;
  /** Bodies of goal, inputs, context, problem and original; dropped once they were handed on. */
  contents: Readonly<Record<string, JsonValue>>;
  phase: 'received' | 'queued' | 'granted' | 'refused' | 'admitted' | 'over';
  waiting: number;
  /** Goal log of the newer goal that took its place. */
  supersededBy?: string;
  cancel: Readonly<{ requestedBy: string; reason: string; forwarded: boolean }> | null;
  /** Set when the goal is over: what remains is to hand the key back and to close. */
  ended: Ending | null;
  endRecorded: boolean;
  /** Own events whose deliveries are not acknowledged, by address. */
  undelivered: readonly string[];
  /** Signals that are not passed on yet, oldest first. */
  signals?: readonly Signal[];
  /** Answers of people that are not passed on yet, oldest first. */
  answers?: readonly Answer[];
  /** Addresses of signals and answers that are on their way: the goal does not depend on them. */
  signalsSent?: readonly string[];
  /** Why the goal can get no session: the broker will never take what would open it or queue it. */
  refused?: Readonly<{ code: string; message: string }>;
}>;

export type KeyLog = Readonly<{
  kind: 'key';
  holder: string | null;
  queue: readonly string[];
  /** Goal logs that gave the key back, not yet answered. */
  released: readonly string[];
  /** Goals that wait for a newer one, which takes their place. */
  settling?: Settling;
}>;

export type IntakeState = Readonly<{ kind: 'none' }> | GoalLog | KeyLog;

const delivered: ReadonlySet<string> = new Set([
  'goal.queued',
  'goal.admitted',
  'goal.rejected',
  'goal.cancelled',
  'goal.cancel-forwarded',
  'goal.signal-forwarded',
  'goal.answer-forwarded',
]);

/** Whether an event of a goal log leads to a write to another log. */
export const hasDelivery = (event: SeenEvent): boolean =>
  delivered.has(event.type) || (event.type === 'goal.ended' && event.data.keyLog !== undefined);

function open(event: SeenEvent<'goal.received'>): GoalLog {
  const contents: Record<string, JsonValue> = {};
  for (const [name, content] of Object.entries(event.content)) contents[name] = bodyOf(content);
  return {
    kind: 'goal',
    received: event.data,
    contents,
    phase: 'received',
    waiting: 0,
    cancel: null,
    ended: null,
    endRecorded: false,
    undelivered: [],
  };
}

function evolveOwn(log: GoalLog, event: SeenEvent): GoalLog {
  switch (event.type) {
    case 'goal.queued':
      return { ...log, phase: 'queued' };
    case 'goal.admitted':
      return { ...log, phase: 'admitted', contents: {} };
    case 'goal.rejected':
      return { ...log, phase: 'over', ended: 'rejected', contents: {} };
    case 'goal.cancelled':
      return { ...log, phase: 'over', ended: 'cancelled', contents: {} };
    case 'goal.cancel-forwarded':
      return log.cancel === null ? log : { ...log, cancel: { ...log.cancel, forwarded: true } };
    case 'goal.signal-forwarded': {
      const left = (log.signals ?? []).filter(({ signal }) => signal !== event.data.signal);
      const signalsSent = [...(log.signalsSent ?? []), addressOf(event)];
      return { ...log, signals: left, signalsSent };
    }
    case 'goal.answer-forwarded': {
      const answers = (log.answers ?? []).filter(({ answer }) => answer !== event.data.answer);
      const signalsSent = [...(log.signalsSent ?? []), addressOf(event)];
      return { ...log, answers, signalsSent };
    }
    case 'goal.ended':
      return { ...log, phase: 'over', endRecorded: true };
    case 'delivery.acknowledged': {
      const address = addressOf(event.data);
      return withoutAddress(log, address);
    }
    case 'delivery.refused':
      return refuse(log, event);
    default:
      return log;
  }
}

function withoutAddress(log: GoalLog, address: string): GoalLog {
  const undelivered = log.undelivered.filter((one) => one !== address);
  const sent = log.signalsSent?.filter((one) => one !== address);
  return { ...log, undelivered, ...(sent === undefined ? {} : { signalsSent: sent }) };
}

/**
 * Before the goal is over, what is refused is what it waits for: its turn, or its session. Only a cancel that was passed
 * on goes there after the opening, and is open alone when it is refused.
 */
function refuse(log: GoalLog, { data, content }: SeenEvent<'delivery.refused'>): GoalLog {
  const address = addressOf(data);
  if (log.signalsSent?.includes(address) === true) return withoutAddress(log, address);
  const undelivered = log.undelivered.filter((one) => one !== address);
  const isCancel = undelivered.length === 0 && log.cancel?.forwarded === true;
  const waits = log.phase === 'queued' || (log.phase === 'admitted' && !isCancel);
  if (!waits || log.refused !== undefined) return { ...log, undelivered };
  const refused = { code: data.code, message: String(bodyOf(content.message)) };
  return { ...log, undelivered, refused };
}

function answered(log: GoalLog, event: SeenEvent<'goal.answer-received'>): GoalLog {
  const { answers = [] } = log;
  if (log.phase === 'over' || answers.length >= limits.signalsWaitingMax) return log;
  const { answer: value, reason } = event.content ?? {};
  const answer: Answer = {
    ...event.data,
    ...(value === undefined ? {} : { value: bodyOf(value) }),
    ...(reason === undefined ? {} : { reason: textOf(reason) }),
  };
  return { ...log, answers: [...answers, answer] };
}

function evolveGoal(log: GoalLog, event: SeenEvent): GoalLog {
  switch (event.type) {
    case 'key.granted':
      return log.phase === 'queued' ? { ...log, phase: 'granted' } : log;
    case 'key.refused': {
      if (log.phase !== 'queued') return log;
      const { waiting, supersededBy } = event.data;
      const newer = supersededBy === undefined ? {} : { supersededBy };
      return { ...log, ...newer, phase: 'refused', waiting };
    }
    case 'goal.cancel-received': {
      if (log.cancel !== null || log.phase === 'over') return log;
      const reason = event.content.reason === undefined ? '' : String(bodyOf(event.content.reason));
      return { ...log, cancel: { requestedBy: event.data.requestedBy, reason, forwarded: false } };
    }
    case 'goal.signal-received': {
      const { signals = [] } = log;
      if (log.phase === 'over' || signals.length >= limits.signalsWaitingMax) return log;
      const { signal, name } = event.data;
      return {
        ...log,
        signals: [...signals, { signal, name, payload: bodyOf(event.content.payload) }],
      };
    }
    case 'goal.answer-received':
      return answered(log, event);
    case 'session.ended':
      return log.phase === 'admitted' ? { ...log, ended: event.data.status } : log;
    default: {
      const next = evolveOwn(log, event);
      if (event.service === 'input' || !hasDelivery(event)) return next;
      return { ...next, undelivered: [...next.undelivered, addressOf(event)] };
    }
  }
}

function request(log: KeyLog, { data, atMs }: SeenEvent<'key.requested'>): KeyLog {
  const { goalLog, debounceMs } = data;
  if (log.holder === goalLog || log.queue.includes(goalLog)) return log;
  if (debounceMs === undefined) return { ...log, queue: [...log.queue, goalLog] };
  return { ...log, settling: settleLater(log.settling, { goalLog, debounceMs, atMs }) };
}

/** Events about goals that wait for a newer one; undefined where this is none of them. */
function evolveSettling(log: KeyLog, event: SeenEvent): KeyLog | undefined {
  const { settling } = log;
  if (settling === undefined) return undefined;
  switch (event.type) {
    case 'key.settled':
      return withSettling(
        { ...log, queue: [...log.queue, event.data.goalLog] },
        withoutGoal(settling, event.data.goalLog),
      );
    case 'key.denied':
      if (event.data.supersededBy === undefined) return undefined;
      return withSettling(log, withoutGoal(settling, event.data.goalLog));
    case 'key.released': {
      const { goalLog } = event.data;
      if (settling.goalLog !== goalLog) return undefined;
      const released = [...log.released, goalLog];
      return withSettling({ ...log, released }, withoutGoal(settling, goalLog));
    }
    case 'timer.set':
      if (event.data.timer !== debounceTimer) return undefined;
      return { ...log, settling: { ...settling, timedAtMs: event.data.dueAtMs } };
    default:
      return undefined;
  }
}

function withSettling(
  { settling: _before, ...log }: KeyLog,
  settling: Settling | undefined,
): KeyLog {
  return settling === undefined ? log : { ...log, settling };
}

function evolveKey(log: KeyLog, event: SeenEvent): KeyLog {
  const settled = evolveSettling(log, event);
  if (settled !== undefined) return settled;
  switch (event.type) {
    case 'key.requested':
      return request(log, event);
    case 'key.released': {
      const { goalLog } = event.data;
      if (log.holder !== goalLog && !log.queue.includes(goalLog)) return log;
      // Also one that only waits: that it gets its turn may have been decided already, and is read after this.
      const queue = log.queue.filter((one) => one !== goalLog);
      return { ...log, queue, released: [...log.released, goalLog] };
    }
    case 'key.assigned':
      return {
        ...log,
        holder: event.data.goalLog,
        queue: log.queue.filter((one) => one !== event.data.goalLog),
      };
    case 'key.denied':
      return { ...log, queue: log.queue.filter((one) => one !== event.data.goalLog) };
    case 'key.freed':
      return {
        ...log,
        holder: log.holder === event.data.goalLog ? null : log.holder,
        released: log.released.filter((one) => one !== event.data.goalLog),
      };
    default:
      return log;
  }
}

export function evolve(state: IntakeState, event: SeenEvent): IntakeState {
  if (state.kind === 'goal') return evolveGoal(state, event);
  if (state.kind === 'key') return evolveKey(state, event);
  if (event.type === 'goal.received') return open(event);
  if (event.type !== 'key.requested') return state;
  return request({ kind: 'key', holder: null, queue: [], released: [] }, event);
}
