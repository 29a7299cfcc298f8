/** The result of a session: the event in its log, and the messages that carry it out of it. */

import {
  bodyOf,
  type Draft,
  event,
  json,
  type SeenEvent,
  text,
  textOf,
} from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import { keysTopic, resultsTopic, sessionTopic } from '../../schemas/topics.ts';
import { goalLogId, messageId } from '../chassis/protocol/ids.ts';
import type { DecideInput, Delivery, SessionMeta } from '../chassis/protocol/service-logic.ts';
import { progressMessage } from './progress.ts';
import type { AggregatorState, Ending, Goal } from './state.ts';

type Published = SeenEvent<'result.published' | 'result.replaced'>;

const resultType = 'longrein.result.v1';

/** `result.published`, once the session ended and none of its calls runs; else nothing. */
export function resultOf(state: AggregatorState, input: DecideInput): readonly Draft[] {
  const { ending, goal } = state;
  if (ending === null || goal === null) return [];
  const runs = Object.values(input.openCalls).some((call) => call.status === 'claimed');
  if (runs || Object.keys(state.children ?? {}).length > 0) return [];
  if (goal.share !== undefined && goal.share.spentNanoUsd === undefined) return [];
  const data = {
    status: ending.status,
    goalId: goal.goalId,
    goalLog: goal.goalLog,
    ...ofFork(goal),
    ...optional(ending, goal),
    ...state.usage,
    openedAtMs: goal.openedAtMs,
    endedAtMs: input.nowMs,
    ...parentOf(goal),
  };
  const content = {
    ...(ending.status === 'completed' ? { output: json(ending.output) } : {}),
    ...(ending.contradictions === undefined ? {} : { contradictions: json(ending.contradictions) }),
    ...(ending.message === null ? {} : { message: text(ending.message) }),
  };
  return [event('result.published', data, content)];
}

/** `result.replaced`, where the broker will never take the result: that must not be all that the asker hears. */
export function replacementOf(state: AggregatorState, input: DecideInput): readonly Draft[] {
  const { refused, goal, session } = state;
  if (refused === undefined || session.value !== 'ended' || goal === null) return [];
  const data = {
    status: 'failed' as const,
    goalId: goal.goalId,
    goalLog: goal.goalLog,
    ...ofFork(goal),
    code: 'RESULT_REFUSED',
    ...(goal.valueNanoUsd === null ? {} : { valueNanoUsd: goal.valueNanoUsd }),
    ...state.usage,
    openedAtMs: goal.openedAtMs,
    endedAtMs: input.nowMs,
    ...parentOf(goal),
  };
  const message =
    `The session ended, but the broker did not take its result (${refused.code}): ` +
    `${refused.message}. The output is in the log of the session.`;
  return [event('result.replaced', data, { message: text(message) })];
}

const parentOf = ({ parent, share }: Goal) => ({
  ...(parent === undefined ? {} : { parent }),
  ...share,
});
const ofFork = ({ forkOf }: Pick<Goal, 'forkOf'>) => (forkOf === undefined ? {} : { forkOf });

const optional = (ending: Ending, goal: Goal) => ({
  ...(ending.code === null ? {} : { code: ending.code }),
  ...(ending.task === null ? {} : { task: ending.task }),
  ...(goal.valueNanoUsd === null ? {} : { valueNanoUsd: goal.valueNanoUsd }),
});

/**
 * The public result and the word to the goal's log that its session ended. Of a child session nobody hears but its
 * parent.
 */
export function deliveriesOf(published: SeenEvent, meta: SessionMeta): readonly Delivery[] {
  if (published.type === 'progress.published') return [progressMessage(published, meta)];
  if (published.type !== 'result.published' && published.type !== 'result.replaced') return [];
  const { session } = meta;
  const { status, goalLog, parent, forkOf } = published.data;
  if (parent !== undefined && forkOf === undefined)
    return [endOfChild(published, { session, parent })];
  const message: Delivery = {
    to: 'public',
    topic: resultsTopic,
    key: session,
    type: resultType,
    id: messageId(session, ['result']),
    value: messageOf(published, meta),
  };
  // A goal has ended with its own session, and a child with its own end, whatever forks come to: a fork tells its own log.
  if (forkOf !== undefined && goalLog !== goalLogId(session)) return [message];
  const ended = event('session.ended', { session, status });
  const identity = ['ended', session];
  return [message, { to: 'log', topic: keysTopic, session: goalLog, identity, event: ended }];
}

const usageOf = ({ inputTokens, outputTokens, costNanoUsd, costKnown }: Published['data']) => ({
  ...{ inputTokens, outputTokens, costNanoUsd },
  ...(costKnown === undefined ? {} : { costKnown }),
});

function endOfChild(
  { data, content: said }: Published,
  { session, parent }: Readonly<{ session: string; parent: NonNullable<Goal['parent']> }>,
): Delivery {
  const { status, code, spentNanoUsd } = data;
  const { output, message } = said as SeenEvent<'result.published'>['content'];
  const head = {
    ...{ child: session, status, ...usageOf(data) },
    ...(spentNanoUsd === undefined ? {} : { spentNanoUsd }),
  };
  const ended = event('child.ended', code === undefined ? head : { ...head, code }, {
    ...(output === undefined ? {} : { output: json(bodyOf(output)) }),
    ...(message === undefined ? {} : { message: text(clipped(textOf(message))) }),
  });
  const to = { to: 'log', topic: sessionTopic(parent.lane), session: parent.session } as const;
  return { ...to, identity: ['child-ended', session], event: ended };
}

function messageOf(published: Published, meta: SessionMeta): JsonObject {
  const { data } = published;
  const { content } = published as SeenEvent<'result.published'>;
  const { valueNanoUsd } = data;
  return {
    goalId: data.goalId,
    session: meta.session,
    ...ofFork(data),
    status: data.status,
    ...(content.output === undefined ? {} : { output: bodyOf(content.output) }),
    ...(content.contradictions === undefined
      ? {}
      : { contradictions: bodyOf(content.contradictions) }),
    ...(data.code === undefined ? {} : { error: errorOf(data.code, published) }),
    usage: usageOf(data),
    ...(valueNanoUsd === undefined ? {} : { valueNanoUsd }),
    ...(Object.keys(meta.labels).length === 0 ? {} : { labels: meta.labels }),
    openedAt: isoTime(data.openedAtMs),
    endedAt: isoTime(data.endedAtMs),
  };
}

function errorOf(code: string, published: Published): JsonObject {
  const { data, content } = published as SeenEvent<'result.published'>;
  const message = clipped(textOf(content.message));
  return data.task === undefined ? { code, message } : { code, message, task: data.task };
}

/** A reason is read by a person; the whole of it is in the log of the session. */
const clipped = (message: string): string =>
  message.length <= limits.reasonCharactersMax
    ? message
    : `${message.slice(0, limits.reasonCharactersMax)}…`;

const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();
