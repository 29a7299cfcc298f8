/** One dead letter for people. Pure. */
import type { Colors } from '../terminal.ts';
import { type Letter, originText } from './letter.ts';
import type { Retry } from './retry.ts';

const bytesShown = 2_000;

/** What a retry would do, in a sentence. */
export function retryText(retry: Retry): string {
  if (retry.as === 'goal') return `publishes the goal again as ${retry.goalId}`;
  if (retry.as === 'record')
    return `appends the record again to ${retry.topic}; its id makes it count once`;
  return `none: ${retry.because}. ${retry.fix}`;
}

export function textOfLetter(colors: Colors, letter: Letter, retry: Retry): string {
  const { bold, dim } = colors;
  const { reason, session, goalId, service, record, bytes } = letter;
  const about = [
    ['letter', letter.id],
    ['state', letter.state],
    ['at', letter.at],
    ['reason', `${reason.message} [${reason.code}]`],
    ['field', reason.field],
    ['fix', reason.fix],
    ['origin', originText(letter)],
    ['session', session],
    ['goal', goalId],
    ['service', service],
    ['record', record],
    ['bytes', bytes === undefined ? undefined : String(bytes)],
    ['retry', letter.acts.length === 0 ? retryText(retry) : undefined],
  ] as const;
  const lines = about.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${bold(name.padEnd(9))}${value}\n`],
  );
  const acts = letter.acts.map(
    ({ act, by, at, reason: why, goalId: as }) =>
      `${bold(act.padEnd(9))}by ${by} at ${at}: ${why}${as === undefined ? '' : ` (goal ${as})`}\n`,
  );
  return `${lines.join('')}${acts.join('')}${originalText(letter, dim)}`;
}

/** The bytes as text, where they are text. */
function originalText({ original }: Letter, dim: (text: string) => string): string {
  if (original === undefined) return '';
  const text = Buffer.from(original, 'base64').toString('utf8');
  // Others would disturb the terminal.
  const plain = text.replaceAll(/\p{Cc}/gu, (one) => (one === '\n' || one === '\t' ? one : '·'));
  const more =
    plain.length > bytesShown ? dim(`… ${plain.length} characters in all; --json has them`) : '';
  return `\n${plain.slice(0, bytesShown)}${more}\n`;
}
