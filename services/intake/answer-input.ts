/** From a record of the approvals topic to the input of a goal log, or to a dead letter. */

import { event, json, text } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { deadLettersTopic } from '../../schemas/topics.ts';
import type { Codec } from '../chassis/log/codec.ts';
import { partitionOf } from '../chassis/log/partition.ts';
import type { LogPort, LogRecord } from '../chassis/log/port.ts';
import { deadLetterType, letterIdOf } from '../chassis/protocol/dead-letter.ts';
import { goalLogId } from '../chassis/protocol/ids.ts';
import { type GoalInput, inputOf, placeOf } from './goal-input.ts';
import type { ParsedAnswer, PublicAnswer } from './parse-answer.ts';

/** Each answer counts once: it is told from others by its ce_id, else by its place in the topic. */
export function answerInput(record: LogRecord, given: PublicAnswer): GoalInput {
  const { session, approval, decision, decidedBy: answeredBy } = given;
  const [question = '', child] = approval.split('/').reverse();
  const answer = placeOf(record);
  const content = {
    ...(given.answer === undefined ? {} : { answer: json(given.answer) }),
    ...(given.reason === undefined ? {} : { reason: text(given.reason) }),
  };
  const draft = event(
    'goal.answer-received',
    { answer, question, decision, answeredBy, ...(child === undefined ? {} : { child }) },
    content,
  );
  const written = { tenant: 'default', principal: answeredBy, labels: {} };
  return inputOf(goalLogId(session), draft, { identity: ['answer', answer], record, written });
}

type Problem = Extract<ParsedAnswer, { kind: 'problem' }>;

/** Says in a dead letter what could not be read; the same bytes however often it is written. */
export async function writeLetter(
  { log, codec }: Readonly<{ log: LogPort; codec: Codec }>,
  record: LogRecord,
  { reason }: Problem,
): Promise<void> {
  const { topic, partition, offset, key, value, timestampMs } = record;
  const origin = { topic, partition, offset };
  const at = new Date(Math.max(0, timestampMs)).toISOString();
  const original = Buffer.from(value ?? []).toString('base64');
  const letter: JsonObject = { reason, origin, original, key, at };
  const partitions = (await log.bounds(deadLettersTopic)).size;
  const to = { topic: deadLettersTopic, partition: partitionOf(key, partitions) };
  const headers = {
    ...{ ce_specversion: '1.0', ce_id: letterIdOf(origin), ce_type: deadLetterType },
    ...{ ce_source: '/services/intake', ce_time: at, 'content-type': 'application/json' },
  };
  await log.append(to, [{ key, headers, value: codec.encode('dead-letter', letter) }]);
}
