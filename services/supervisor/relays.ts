/** What the supervisor writes to other logs: openings and cancels of child sessions. */

import { bodyOf, event, json, type SeenEvent, text, textOf } from '../../schemas/event.ts';
import { sessionTopic } from '../../schemas/topics.ts';
import type { Delivery, SessionMeta } from '../chassis/protocol/service-logic.ts';

export function deliveriesOf(seen: SeenEvent, meta: SessionMeta): readonly Delivery[] {
  if (seen.type === 'child.opened') return [opening(seen, meta)];
  return seen.type === 'child.cancelled' && seen.data.opened ? [cancel(seen)] : [];
}

function opening({ data, content }: SeenEvent<'child.opened'>, { session }: SessionMeta): Delivery {
  const { task, ordinal, child, first: _first, count: _count, ...rest } = data;
  const parent = { session, lane: data.lane, task, ordinal };
  const opened = event(
    'session.opened',
    { ...rest, source: session, parent },
    {
      goal: text(textOf(content.goal)),
      inputs: json(bodyOf(content.inputs)),
      catalog: json(bodyOf(content.catalog)),
    },
  );
  const topic = sessionTopic(data.lane);
  return { to: 'log', topic, session: child, identity: ['opened'], event: opened };
}

function cancel({ data, content }: SeenEvent<'child.cancelled'>): Delivery {
  const { child, lane, requestedBy } = data;
  const reason = { reason: text(textOf(content.reason)) };
  const request = event('session.cancel-requested', { requestedBy }, reason);
  return {
    ...{ to: 'log', topic: sessionTopic(lane), session: child },
    ...{ identity: ['cancel'], event: request },
  };
}
