import {
  bodyOf,
  type DataOf,
  event,
  json,
  type SeenEvent,
  text,
  textOf,
} from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { deadLettersTopic, keysTopic, resultsTopic, sessionTopic } from '../../schemas/topics.ts';
import { messageId } from '../chassis/protocol/ids.ts';
import type { Delivery, SessionMeta } from '../chassis/protocol/service-logic.ts';

const iso = (ms: number): string => new Date(ms).toISOString();

function openSession(seen: SeenEvent<'goal.admitted'>): Delivery {
  const { session, ...data } = seen.data;
  const { goal, inputs, context } = seen.content;
  const opened = event('session.opened', data, {
    goal: text(textOf(goal)),
    ...(inputs === undefined ? {} : { inputs: json(bodyOf(inputs)) }),
    ...(context === undefined ? {} : { context: json(bodyOf(context)) }),
  });
  const topic = sessionTopic(data.lane);
  return { to: 'log', topic, session, identity: ['opened'], event: opened };
}

type Unopened = SeenEvent<'goal.rejected' | 'goal.cancelled' | 'goal.taken'>;

const statuses = {
  'goal.rejected': 'rejected',
  'goal.cancelled': 'cancelled',
  'goal.taken': 'completed',
} as const;

/** The result of a goal that never got a session. */
function result(seen: Unopened, meta: SessionMeta, more: JsonObject): Delivery {
  const { goalId, session, receivedAtMs } = seen.data;
  const value: JsonObject = {
    goalId,
    session,
    status: statuses[seen.type],
    ...more,
    usage: { inputTokens: 0, outputTokens: 0, costNanoUsd: 0 },
    ...(Object.keys(meta.labels).length === 0 ? {} : { labels: meta.labels }),
    openedAt: iso(receivedAtMs),
    endedAt: iso(seen.atMs),
  };
  const id = messageId(session, ['result']);
  return { to: 'public', topic: resultsTopic, key: session, type: 'longrein.result.v1', id, value };
}

function reasonOf(seen: SeenEvent<'goal.rejected'>): JsonObject {
  const fix = textOf(seen.content.fix);
  return {
    code: seen.data.code,
    message: textOf(seen.content.message),
    ...(seen.data.field === undefined ? {} : { field: seen.data.field }),
    ...(fix === '' ? {} : { fix }),
  };
}

function rejected(seen: SeenEvent<'goal.rejected'>, meta: SessionMeta): Delivery[] {
  const reason = reasonOf(seen);
  const answer = result(seen, meta, { error: reason });
  if (!seen.data.deadLetter) return [answer];
  const { goalId, session, origin } = seen.data;
  const original = seen.content.original === undefined ? '' : textOf(seen.content.original);
  const letter: Delivery = {
    to: 'public',
    topic: deadLettersTopic,
    key: goalId,
    type: 'longrein.dead-letter.v1',
    id: messageId(session, ['dead-letter']),
    value: { reason, origin, original, session, goalId, at: iso(seen.atMs) },
  };
  return [letter, answer];
}

function cancelled(seen: SeenEvent<'goal.cancelled'>, meta: SessionMeta): Delivery {
  const reason = textOf(seen.content.reason);
  const message = reason === '' ? 'cancelled before its session opened' : reason;
  return result(seen, meta, { error: { code: 'CANCELLED', message } });
}

/** Its own session never opens: the result says which one has taken it. */
function taken(seen: SeenEvent<'goal.taken'>, meta: SessionMeta): Delivery {
  const { takenBy: session, task, iteration } = seen.data;
  const takenBy = { session, task, ...(iteration === undefined ? {} : { iteration }) };
  return result(seen, meta, { takenBy });
}

function forwardWake(seen: SeenEvent<'goal.wake-forwarded'>, meta: SessionMeta): Delivery {
  const { session, lane, goalId, receivedAtMs } = seen.data;
  const { goal, inputs, context } = seen.content;
  const { session: goalLog, principal } = meta;
  const woken = event(
    'session.woken',
    { goalId, goalLog, principal, receivedAtMs },
    {
      goal: text(textOf(goal)),
      ...(inputs === undefined ? {} : { inputs: json(bodyOf(inputs)) }),
      ...(context === undefined ? {} : { context: json(bodyOf(context)) }),
    },
  );
  const identity = ['woken', goalLog];
  return { to: 'log', topic: sessionTopic(lane), session, identity, event: woken };
}

type Told = SeenEvent<'key.diversions-counted' | 'key.diversion-withdrawn'>;

/** What a session hears of the goals that were sent to it. */
function tellWatcher(seen: Told, keyLog: string): Delivery {
  const { session, lane } = seen.data;
  const to = { to: 'log', topic: sessionTopic(lane), session } as const;
  if (seen.type === 'key.diversion-withdrawn') {
    const { goalLog } = seen.data;
    const identity = ['wake-withdrawn', goalLog];
    return { ...to, identity, event: event('wake.withdrawn', { goalLog }) };
  }
  const { diverted } = seen.data;
  return { ...to, identity: ['wake-counted'], event: event('wake.counted', { keyLog, diverted }) };
}

function forwardCancel(seen: SeenEvent<'goal.cancel-forwarded'>): Delivery {
  const { session, lane, requestedBy } = seen.data;
  const reason = { reason: text(textOf(seen.content.reason)) };
  const request = event('session.cancel-requested', { requestedBy }, reason);
  return { to: 'log', topic: sessionTopic(lane), session, identity: ['cancel'], event: request };
}

function forwardChildCancel(seen: SeenEvent<'goal.child-cancel-forwarded'>): Delivery {
  const { session, lane, child, requestedBy } = seen.data;
  const { reason } = seen.content ?? {};
  const told = reason === undefined ? {} : { reason: text(textOf(reason)) };
  const request = event('session.child-cancel-requested', { child, requestedBy }, told);
  const identity = ['cancel', child];
  return { to: 'log', topic: sessionTopic(lane), session, identity, event: request };
}

function forwardSignal(seen: SeenEvent<'goal.signal-forwarded'>): Delivery {
  const { session, lane, signal, name } = seen.data;
  const payload = json(bodyOf(seen.content.payload));
  const signalled = event('session.signalled', { signal, name }, { payload });
  const identity = ['signal', signal];
  return { to: 'log', topic: sessionTopic(lane), session, identity, event: signalled };
}

function forwardAnswer(seen: SeenEvent<'goal.answer-forwarded'>): Delivery {
  const { session, child, lane, answer: id, question, decision, answeredBy } = seen.data;
  const { answer, reason } = seen.content ?? {};
  const content = {
    ...(answer === undefined ? {} : { answer: json(bodyOf(answer)) }),
    ...(reason === undefined ? {} : { reason: text(textOf(reason)) }),
  };
  const answered = event('person.answered', { question, decision, answeredBy }, content);
  const identity = ['answer', id];
  const to = child ?? session;
  return { to: 'log', topic: sessionTopic(lane), session: to, identity, event: answered };
}

const toKeys = (
  target: string,
  identity: string[],
  draft: Extract<Delivery, { to: 'log' }>['event'],
): Delivery => ({
  to: 'log',
  topic: keysTopic,
  session: target,
  identity,
  event: draft,
});

const requestOf = (
  goalLog: string,
  { session, debounceMs, returned }: DataOf<'goal.queued'>,
): DataOf<'key.requested'> => ({
  ...{ goalLog, session },
  ...(debounceMs === undefined ? {} : { debounceMs }),
  ...(returned === undefined ? {} : { returned }),
});

const refusalOf = (
  keyLog: string,
  { waiting, supersededBy }: DataOf<'key.denied'>,
): DataOf<'key.refused'> => ({
  ...{ keyLog, waiting },
  ...(supersededBy === undefined ? {} : { supersededBy }),
});

function release(keyLog: string, goalLog: string, { woke }: DataOf<'goal.ended'>): Delivery {
  const released = { goalLog, ...(woke === undefined ? {} : { woke }) };
  return toKeys(keyLog, ['released', goalLog], event('key.released', released));
}

/** The writes to other logs that follow from events of goal logs and key logs (DESIGN 3.12). */
export function deliveriesOf(seen: SeenEvent, meta: SessionMeta): Delivery[] {
  const own = meta.session;
  switch (seen.type) {
    case 'goal.queued':
      return [
        toKeys(
          seen.data.keyLog,
          ['requested', own, ...(seen.data.returned === undefined ? [] : ['returned'])],
          event('key.requested', requestOf(own, seen.data)),
        ),
      ];
    case 'goal.admitted':
      return [openSession(seen)];
    case 'goal.rejected':
      return rejected(seen, meta);
    case 'goal.cancelled':
      return [cancelled(seen, meta)];
    case 'goal.cancel-forwarded':
      return [forwardCancel(seen)];
    case 'goal.child-cancel-forwarded':
      return [forwardChildCancel(seen)];
    case 'goal.signal-forwarded':
      return [forwardSignal(seen)];
    case 'goal.answer-forwarded':
      return [forwardAnswer(seen)];
    case 'goal.ended':
      if (seen.data.keyLog === undefined) return [];
      return [release(seen.data.keyLog, own, seen.data)];
    case 'goal.wake-forwarded':
      return [forwardWake(seen, meta)];
    case 'goal.taken':
      return [taken(seen, meta)];
    case 'key.diverted': {
      const { goalLog, session, lane } = seen.data;
      const told = event('goal.diverted', { keyLog: own, session, lane });
      return [toKeys(goalLog, ['diverted', own], told)];
    }
    case 'key.diversions-counted':
    case 'key.diversion-withdrawn':
      return [tellWatcher(seen, own)];
    case 'key.assigned':
      return [toKeys(seen.data.goalLog, ['granted', own], event('key.granted', { keyLog: own }))];
    case 'key.denied':
      return [
        toKeys(
          seen.data.goalLog,
          ['refused', own],
          event('key.refused', refusalOf(own, seen.data)),
        ),
      ];
    default:
      return [];
  }
}
