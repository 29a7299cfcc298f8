/** What other systems read about questions, on longrein.approvals: that one is open, and what became of it. */

import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { approvalsTopic } from '../../schemas/topics.ts';
import { messageId } from '../chassis/protocol/ids.ts';
import { addressOf, type Delivery, type SessionMeta } from '../chassis/protocol/service-logic.ts';

type QuestionEvent = SeenEvent<'person.asked' | 'person.escalated' | 'person.settled'>;

/** An agent is named by its task and attempt; the task is what people know. */
const taskOf = (agent: string): string => agent.replace(/\.\d+$/, '');

function request(
  seen: QuestionEvent,
  { session, tenant }: SessionMeta,
  said: JsonObject,
): Delivery {
  const { question, agent, root = session } = seen.data;
  // Where a child session asks, people know the goal; the approval says whose question it is.
  const approval = root === session ? question : `${session}/${question}`;
  const at = new Date(seen.atMs).toISOString();
  const value = { session: root, approval, ...said, task: taskOf(agent), agent, tenant, at };
  return {
    to: 'public',
    topic: approvalsTopic,
    key: root,
    type: 'longrein.approval-request.v1',
    id: messageId(session, ['approval', addressOf(seen)]),
    value,
  };
}

function asked(seen: SeenEvent<'person.asked' | 'person.escalated'>): JsonObject {
  const { to, dueAtMs } = seen.data;
  const { question, choices } = seen.content;
  return {
    ...{ state: 'open', question: textOf(question) },
    ...(choices === undefined ? {} : { choices: bodyOf(choices) }),
    ...(seen.type === 'person.asked' ? { about: seen.data.about } : {}),
    ...(to === undefined ? {} : { to }),
    ...(dueAtMs === undefined ? {} : { dueAt: new Date(dueAtMs).toISOString() }),
  };
}

function settled({ data }: SeenEvent<'person.settled'>): JsonObject {
  const { outcome, decision, answeredBy } = data;
  return {
    state: outcome,
    ...(decision === undefined ? {} : { decision }),
    ...(answeredBy === undefined ? {} : { answeredBy }),
  };
}

/** The writes to longrein.approvals that follow from an event of a pool (DESIGN 3.12). */
export function deliveriesOf(seen: SeenEvent, meta: SessionMeta): Delivery[] {
  switch (seen.type) {
    case 'person.asked':
    case 'person.escalated':
      return [request(seen, meta, asked(seen))];
    case 'person.settled':
      return [request(seen, meta, settled(seen))];
    default:
      return [];
  }
}
