import { type Draft, event, json, text } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import { goalLogId, keyLogId } from '../chassis/protocol/ids.ts';
import type { ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { debounceTimer, decideSettling } from './debounce.ts';
import { deliveriesOf } from './deliveries.ts';
import { decideDiversion } from './diversion.ts';
import type { KeyLog } from './key-log.ts';
import { type Answer, type ChildCancel, evolve, type GoalLog, type IntakeState } from './state.ts';

const refusedFix = 'send less with the goal, or let the operator raise the limits of the topics';

function known({ received }: GoalLog) {
  const { goalId, session, receivedAtMs, origin } = received;
  return { goalId, session, receivedAtMs, origin };
}

function reject(log: GoalLog): Draft {
  const { problem } = log.received;
  const { refused } = log;
  if (refused !== undefined) {
    const data = { ...known(log), code: refused.code, deadLetter: false };
    const message = `The goal cannot be passed on: ${refused.message}`;
    return event('goal.rejected', data, { message: text(message), fix: text(refusedFix) });
  }
  const told = log.contents['problem'] as JsonObject | undefined;
  const { supersededBy } = log;
  if (supersededBy !== undefined) {
    const newer = supersededBy.replace(/^goal_/, '');
    const message = `A newer goal of the key ${log.received.key ?? ''} came within its debounceMs: ${newer}`;
    const data = { ...known(log), code: 'SUPERSEDED', field: 'debounceMs', deadLetter: false };
    const fix = text('follow the session of the newer goal');
    return event('goal.rejected', data, { message: text(message), fix });
  }
  if (problem === undefined) {
    const message = `${log.waiting} goals wait for the key ${log.received.key ?? ''} already`;
    const data = { ...known(log), code: 'KEY_QUEUE_FULL', field: 'key', deadLetter: false };
    return event('goal.rejected', data, {
      message: text(message),
      fix: text('send it again later'),
    });
  }
  const original = log.contents['original'];
  const data = { ...known(log), ...problem, deadLetter: original !== undefined };
  return event('goal.rejected', data, {
    message: text(String(told?.['message'] ?? problem.code)),
    fix: text(String(told?.['fix'] ?? '')),
    ...(original === undefined ? {} : { original: json(original) }),
  });
}

function admit(log: GoalLog, nowMs: number): Draft {
  const { origin: _origin, problem: _problem, receivedAtMs: _at, session, ...rest } = log.received;
  const { debounceMs: _waited, rule: _rule, ...meta } = rest;
  const { goal, inputs, context } = log.contents;
  const data = { ...meta, session, goalLog: goalLogId(session), openedAtMs: nowMs };
  return event('goal.admitted', data, {
    goal: text(String(goal ?? '')),
    ...(inputs === undefined ? {} : { inputs: json(inputs) }),
    ...(context === undefined ? {} : { context: json(context) }),
  });
}

function cancelEarly(log: GoalLog): Draft {
  const { goalId, session, receivedAtMs } = log.received;
  const requestedBy = log.cancel?.requestedBy ?? '';
  const reason = text(log.cancel?.reason ?? '');
  return event('goal.cancelled', { goalId, session, receivedAtMs, requestedBy }, { reason });
}

/** The end of a goal; with the closing of its log where nothing is to be waited for any more. */
function end(log: GoalLog, tenant: string): Draft[] {
  const status = log.ended ?? 'failed';
  const { key } = log.received;
  const { woke } = log;
  if (key !== undefined && log.received.problem === undefined) {
    const keyLog = keyLogId(tenant, key);
    return [event('goal.ended', { status, keyLog, ...(woke === undefined ? {} : { woke }) })];
  }
  const ended = event('goal.ended', { status });
  return log.undelivered.length === 0 ? [ended, event('session.closed', {})] : [ended];
}

function enter(log: GoalLog, tenant: string, nowMs: number): Draft {
  const { key, session, debounceMs } = log.received;
  if (key === undefined) return admit(log, nowMs);
  const waits = debounceMs === undefined ? {} : { debounceMs };
  const how = log.returned === undefined ? waits : { returned: log.returned };
  return event('goal.queued', { keyLog: keyLogId(tenant, key), session, ...how });
}

/** The goal as the loop sees it that it is to wake. */
function forwardWake({ received, contents, wake }: GoalLog): Draft[] {
  if (wake === undefined) return [];
  const { goalId, receivedAtMs } = received;
  const { goal, inputs, context } = contents;
  const content = {
    goal: text(String(goal ?? '')),
    ...(inputs === undefined ? {} : { inputs: json(inputs) }),
    ...(context === undefined ? {} : { context: json(context) }),
  };
  return [event('goal.wake-forwarded', { goalId, receivedAtMs, ...wake }, content)];
}

/** Where it goes in place of getting a session of its own; undefined for one that does not. */
function wakeSteps(log: GoalLog): Draft[] | undefined {
  const { goalId, session, receivedAtMs } = log.received;
  switch (log.phase) {
    case 'diverted':
      return forwardWake(log);
    case 'forwarded':
      return [];
    case 'taken':
      if (log.taken === undefined) return [];
      return [event('goal.taken', { goalId, session, receivedAtMs, ...log.taken })];
    default:
      return undefined;
  }
}

function forwardAnswer(answer: Answer, { session, lane }: GoalLog['received']): Draft {
  const { value, reason, ...data } = answer;
  const content = {
    ...(value === undefined ? {} : { answer: json(value) }),
    ...(reason === undefined ? {} : { reason: text(reason) }),
  };
  return event('goal.answer-forwarded', { ...data, session, lane }, content);
}

function forwardChildCancel(
  { reason, ...data }: ChildCancel,
  { session, lane }: GoalLog['received'],
): Draft {
  const content = reason === undefined ? {} : { reason: text(reason) };
  return event('goal.child-cancel-forwarded', { ...data, session, lane }, content);
}

/** What goes on to the session that runs: signals and answers in their order, and one cancel. */
function forward(log: GoalLog): Draft[] {
  const { received, cancel, signals = [], answers = [], childCancels = [] } = log;
  const { session, lane } = received;
  const signalled = signals.map(({ signal, name, payload }) =>
    event('goal.signal-forwarded', { signal, name, session, lane }, { payload: json(payload) }),
  );
  const told = [
    ...signalled,
    ...answers.map((answer) => forwardAnswer(answer, received)),
    ...childCancels.map((one) => forwardChildCancel(one, received)),
  ];
  if (cancel === null || cancel.forwarded) return told;
  const { requestedBy, reason } = cancel;
  const stop = { session, lane, requestedBy };
  return [...told, event('goal.cancel-forwarded', stop, { reason: text(reason) })];
}

function decideGoal(log: GoalLog, tenant: string, nowMs: number): Draft[] {
  const { received, cancel } = log;
  if (log.ended !== null && !log.endRecorded) return end(log, tenant);
  if (log.phase === 'over')
    return log.undelivered.length === 0 ? [event('session.closed', {})] : [];
  if (log.refused !== undefined) return [reject(log)];
  if (log.phase === 'admitted') return forward(log);
  if (received.problem !== undefined || log.phase === 'refused') return [reject(log)];
  const woken = wakeSteps(log);
  if (woken !== undefined) return woken;
  if (cancel !== null) return [cancelEarly(log)];
  if (log.phase === 'received') return [enter(log, tenant, nowMs)];
  return log.phase === 'granted' ? [admit(log, nowMs)] : [];
}

/** The goal that intake could not decide about: who asked hears so. */
function giveUp(log: GoalLog): Draft {
  const data = { ...known(log), code: 'DECISION_FAILED', deadLetter: false };
  return event('goal.rejected', data, {
    message: text('The goal could not be taken up: intake failed.'),
    fix: text('the operator finds why in the dead letters; then send it again under another id'),
  });
}

function decideKey(log: KeyLog, nowMs: number): Draft[] {
  const drafts: Draft[] = log.released.map((goalLog) => event('key.freed', { goalLog }));
  const settled = decideSettling(log.settling, nowMs);
  drafts.push(...settled);
  const last = settled.flatMap((one) => (one.type === 'key.settled' ? [one.data.goalLog] : []));
  const queue = [...log.queue, ...last];
  const free = log.holder === null || log.released.includes(log.holder);
  const [first, ...rest] = queue;
  const going = decideDiversion(log, queue);
  const gone = new Set(
    going.flatMap((one) => (one.type === 'key.diverted' ? [one.data.goalLog] : [])),
  );
  const waiting = (free ? rest : queue).filter((goalLog) => !gone.has(goalLog));
  if (free && first !== undefined) {
    drafts.push(event('key.assigned', { goalLog: first, waiting: waiting.length }));
  }
  drafts.push(...going);
  for (const goalLog of waiting.slice(limits.keyQueueMax)) {
    drafts.push(event('key.denied', { goalLog, waiting: limits.keyQueueMax }));
  }
  return drafts;
}

const answered: ReadonlySet<string> = new Set([
  'goal.received',
  'goal.cancel-received',
  'goal.child-cancel-received',
  'goal.signal-received',
  'goal.answer-received',
  'key.requested',
  'key.watched',
  'key.unwatched',
  'goal.diverted',
  'goal.wake-settled',
  'key.granted',
  'key.refused',
  'key.released',
  'session.ended',
  // The last of its own writes that arrives is what the closing of a log waits for.
  'delivery.acknowledged',
  'delivery.refused',
]);

/** Goals in, sessions out: each goal once, goals of a key one after another, what cannot be done with a clear no. */
export const intakeLogic: ServiceLogic<IntakeState> = {
  name: 'intake',
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => ({ kind: 'none' }),
  evolve,
  answers: (seen) =>
    seen.type === 'timer.fired' ? seen.data.timer === debounceTimer : answered.has(seen.type),
  decide(state, { session, nowMs }) {
    if (state.kind === 'goal') return decideGoal(state, session.tenant, nowMs);
    return state.kind === 'key' ? decideKey(state, nowMs) : [];
  },
  decideAfterFailure(state, { session, nowMs }) {
    if (state.kind !== 'goal') return [];
    const isOpen = state.ended === null && !['admitted', 'over'].includes(state.phase);
    return isOpen ? [giveUp(state)] : decideGoal(state, session.tenant, nowMs);
  },
  deliveries: deliveriesOf,
};
