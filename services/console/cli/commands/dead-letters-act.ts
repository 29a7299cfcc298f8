import { LongreinError } from '../../../chassis/errors.ts';
import type { Deed } from '../../../chassis/host/watermark-records.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import { type Call, type CommandSpec, writeJson } from '../context.ts';
import type { Letter, LetterAct } from '../dead-letters/letter.ts';
import type { Retry } from '../dead-letters/retry.ts';
import { exitCodes } from '../exit-code.ts';
import { deedOf, reasonOptions } from '../who.ts';

/** A person has mended what was wrong, and wants it taken up again. */
export const deadLettersRetry: CommandSpec = {
  name: 'retry <letter>',
  about: 'take up again what a dead letter holds; refused where something could happen twice',
  options: reasonOptions,
  examples: ['longrein dead-letters retry msg_1f0c2d --reason "the plan is there now"'],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const { planRetry } = await import('../dead-letters/plan-retry.ts');
    const deed = deedOf(call);
    const letter = await openLetter(call);
    const retry = await planRetry(call, letter);
    if (retry.as === 'none') {
      const message = `it cannot be retried: ${retry.because}`;
      throw new LongreinError('RETRY_REFUSED', message, { fix: retry.fix });
    }
    const act = await withLog(call.environment, (log) => takeUp(log, { letter, retry, deed }));
    if (call.json) writeJson(call, act);
    else call.terminal.out(told(retry));
    return exitCodes.done;
  },
};

/** A person has looked at it, and nothing is to be done. */
export const deadLettersDiscard: CommandSpec = {
  name: 'discard <letter>',
  about: 'say that nothing is to be done about a dead letter; it stays in the topic',
  options: reasonOptions,
  examples: ['longrein dead-letters discard msg_1f0c2d --reason "a test of Monday"'],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const { writeAct } = await import('../dead-letters/topic.ts');
    const deed = deedOf(call);
    const letter = await openLetter(call);
    const act = await withLog(call.environment, (log) =>
      writeAct(log, letter, { act: 'discarded', deed }),
    );
    if (call.json) writeJson(call, act);
    else call.terminal.out(`${letter.id} is discarded: ${deed.reason}\n`);
    return exitCodes.done;
  },
};

/** The letter of the call. Throws LETTER_SETTLED where somebody has looked after it. */
async function openLetter(call: Call): Promise<Letter> {
  const { withLog } = await import('../log-client.ts');
  const { letterNamed, readLetters } = await import('../dead-letters/topic.ts');
  const [name = ''] = call.args;
  const letter = letterNamed(await withLog(call.environment, readLetters), name);
  const last = letter.acts.at(-1);
  if (last === undefined) return letter;
  const message = `${letter.id} was ${last.act} by ${last.by} at ${last.at}: ${last.reason}`;
  throw new LongreinError('LETTER_SETTLED', message, {
    fix: `Nothing is to be done; see it: longrein dead-letters show ${letter.id}`,
  });
}

/** What it writes has ids that follow from the letter: should this end in between, it can be done again. */
async function takeUp(
  log: LogPort,
  { letter, retry, deed }: { letter: Letter; retry: Exclude<Retry, { as: 'none' }>; deed: Deed },
): Promise<LetterAct> {
  const { writeAct } = await import('../dead-letters/topic.ts');
  if (retry.as === 'record') {
    const { partitionOf } = await import('../../../chassis/log/partition.ts');
    const { boundsOf } = await import('../../../client/publish.ts');
    const { topic, key, headers, value } = retry;
    const partition = partitionOf(key, (await boundsOf(log, topic)).size);
    await log.append({ topic, partition }, [{ key, headers, value }]);
    return await writeAct(log, letter, { act: 'retried', deed });
  }
  const { publishGoal } = await import('../../../client/publish.ts');
  const { goalId, body } = retry;
  await publishGoal(log, { goalId, body, session: '', known: true });
  return await writeAct(log, letter, { act: 'retried', deed, goalId });
}

function told(retry: Exclude<Retry, { as: 'none' }>): string {
  if (retry.as === 'record')
    return `The record stands in ${retry.topic} again; its session goes on.\n`;
  return `It is asked for again as goal ${retry.goalId}. See it: longrein session show ${retry.goalId}\n`;
}
