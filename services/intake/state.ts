import { bodyOf, type DataOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { evolveKey, newKeyLog } from './evolve-key.ts';
import type { KeyLog } from './key-log.ts';

/**
 * Intake works on logs of its own (DESIGN 3.8): a goal log follows one goal from its arrival to its end; a key log
 * gives the goals of one key their turns, one after another.
 */

type Ending = DataOf<'goal.ended'>['status'];

export type Signal = Readonly<{ signal: string; name: string; payload: JsonValue }>;

/** What a person answered to a question of the session. */
export type Answer = DataOf<'goal.answer-received'> &
  Readonly<{ value?: JsonValue; reason?: string }>;

/** Somebody wants one child session of the goal to end. */
export type ChildCancel = Readonly<{ child: string; requestedBy: string; reason?: string }>;

/** `diverted`, `forwarded`, `taken`: it goes to the session that has its key, and wakes a loop there. */
type Phase =
  | 'received'
  | 'queued'
  | 'granted'
  | 'refused'
  | 'diverted'
  | 'forwarded'
  | 'taken'
  | 'admitted'
  | 'over';

export type GoalLog = Readonly<{
  kind: 'goal';
  received: DataOf<'goal.received'>;
  /** Bodies of goal, inputs, context, problem and original; dropped once they were handed on. */
  contents: Readonly<Record<string, JsonValue>>;
  phase: Phase;
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
  /** Children that are to end and of which the session has not heard yet. */
  childCancels?: readonly ChildCancel[];
  /** Addresses of signals and answers that are on their way: the goal does not depend on them. */
  signalsSent?: readonly string[];
  /** The session whose loop it is to wake. */
  wake?: Readonly<{ session: string; lane: string }>;
  /** It was passed on to there. */
  woke?: true;
  /** An iteration has seen it. */
  taken?: Readonly<{ takenBy: string; task: string; iteration?: number }>;
  /** Nobody there had a use for it: it gets its turn. */
  returned?: true;
  /** Why the goal can get no session: the broker will never take what would open it or queue it. */
  refused?: Readonly<{ code: string; message: string }>;
}>;

export type IntakeState = Readonly<{ kind: 'none' }> | GoalLog | KeyLog;

const delivered: ReadonlySet<string> = new Set([
  'goal.queued',
  'goal.admitted',
  'goal.rejected',
  'goal.cancelled',
  'goal.cancel-forwarded',
  'goal.child-cancel-forwarded',
  'goal.signal-forwarded',
  'goal.answer-forwarded',
  'goal.wake-forwarded',
  'goal.taken',
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
    // A live fork goes on already.
    phase: event.data.forkOf === undefined ? 'received' : 'admitted',
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
    case 'goal.child-cancel-forwarded': {
      const left = (log.childCancels ?? []).filter(({ child }) => child !== event.data.child);
      const signalsSent = [...(log.signalsSent ?? []), addressOf(event)];
      return { ...log, childCancels: left, signalsSent };
    }
    case 'goal.wake-forwarded':
      return { ...log, phase: 'forwarded', woke: true };
    case 'goal.taken':
      return { ...log, phase: 'over', ended: 'completed', contents: {} };
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
  const onItsWay = log.phase === 'queued' || log.phase === 'forwarded';
  const waits = onItsWay || (log.phase === 'admitted' && !isCancel);
  if (!waits || log.refused !== undefined) return { ...log, undelivered };
  const refused = { code: data.code, message: String(bodyOf(content.message)) };
  const { woke: _never, ...rest } = log;
  return { ...rest, undelivered, refused };
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

function childCancelled(log: GoalLog, event: SeenEvent<'goal.child-cancel-received'>): GoalLog {
  const { childCancels = [] } = log;
  if (log.phase === 'over' || childCancels.length >= limits.signalsWaitingMax) return log;
  const { reason } = event.content ?? {};
  const told = reason === undefined ? {} : { reason: textOf(reason) };
  return { ...log, childCancels: [...childCancels, { ...event.data, ...told }] };
}

function evolveGoal(log: GoalLog, event: SeenEvent): GoalLog {
  switch (event.type) {
    case 'goal.child-cancel-received':
      return childCancelled(log, event);
    case 'key.granted':
      return log.phase === 'queued' ? { ...log, phase: 'granted' } : log;
    case 'key.refused': {
      if (log.phase !== 'queued') return log;
      const { waiting, supersededBy } = event.data;
      const newer = supersededBy === undefined ? {} : { supersededBy };
      return { ...log, ...newer, phase: 'refused', waiting };
    }
    case 'goal.diverted': {
      const { session, lane } = event.data;
      return log.phase === 'queued' ? { ...log, phase: 'diverted', wake: { session, lane } } : log;
    }
    case 'goal.wake-settled': {
      if (log.phase !== 'forwarded') return log;
      const { session: takenBy, outcome, ...where } = event.data;
      if (outcome === 'taken') return { ...log, phase: 'taken', taken: { takenBy, ...where } };
      return { ...log, phase: 'received', returned: true };
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

export function evolve(state: IntakeState, event: SeenEvent): IntakeState {
  if (state.kind === 'goal') return evolveGoal(state, event);
  if (state.kind === 'key') return evolveKey(state, event);
  if (event.type === 'goal.received') return open(event);
  if (event.type !== 'key.requested') return state;
  return evolveKey(newKeyLog, event);
}
