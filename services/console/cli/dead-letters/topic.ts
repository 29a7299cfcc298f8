/** The topic of dead letters: all that it holds, and acts of people written to it. */
import { readPartition } from '../../../../replay-tools/read/partition-reader.ts';
import { deadLettersTopic } from '../../../../schemas/topics.ts';
import type { Deed } from '../../../chassis/host/watermark-records.ts';
import type { LogPort, LogRecord } from '../../../chassis/log/port.ts';
import { messageId } from '../../../chassis/protocol/ids.ts';
import { nearest } from '../../../chassis/words/nearest.ts';
import { boundsOf, publish } from '../../../client/publish.ts';
import { UsageError } from '../exit-code.ts';
import { actType, type Letter, type LetterAct, lettersIn } from './letter.ts';

/** Reads them all. Throws STACK_EMPTY. */
export async function readLetters(log: LogPort): Promise<readonly Letter[]> {
  const records: LogRecord[] = [];
  for (const [partition, bounds] of await boundsOf(log, deadLettersTopic)) {
    const at = { topic: deadLettersTopic, partition };
    for await (const record of readPartition(log, at, bounds)) records.push(record);
  }
  return lettersIn(records);
}

/** The letter that an id, or the start of one, names. Throws UsageError, with the nearest. */
export function letterNamed(letters: readonly Letter[], name: string): Letter {
  const found = letters.filter(({ id }) => id.startsWith(name) || id.startsWith(`msg_${name}`));
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  if (found.length > 1) {
    const some = found.slice(0, 5).map(({ id }) => id);
    throw new UsageError(
      `"${name}" begins ${found.length} dead letters: ${some.join(', ')}`,
      'Give more of the id.',
    );
  }
  const near = nearest(
    name,
    letters.map(({ id }) => id),
  );
  const fix =
    near === undefined ? 'See them: longrein dead-letters list --all' : `Did you mean ${near}?`;
  throw new UsageError(`there is no dead letter "${name}"`, fix);
}

/** Writes down what a person did with a letter, behind it in its partition. */
export async function writeAct(
  log: LogPort,
  letter: Letter,
  done: { act: LetterAct['act']; deed: Deed; goalId?: string },
): Promise<LetterAct> {
  const { act, deed, goalId } = done;
  const { by, reason, atMs } = deed;
  const at = new Date(atMs).toISOString();
  const value: LetterAct = {
    ...{ letter: letter.id, act, by, reason },
    ...(goalId === undefined ? {} : { goalId }),
    at,
  };
  const headers = {
    ce_specversion: '1.0',
    ce_id: messageId(letter.id, [act, at, by]),
    ce_type: actType,
    ce_source: '/cli',
    ...(letter.session === undefined ? {} : { ce_subject: letter.session }),
    ce_time: at,
  };
  await publish(log, deadLettersTopic, { key: letter.recordKey, headers, body: value });
  return value;
}
