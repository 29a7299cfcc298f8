import { type Call, type CommandSpec, flagOption, writeJson } from '../context.ts';
import type { Letter } from '../dead-letters/letter.ts';
import { exitCodes } from '../exit-code.ts';
import { shortId } from '../figures.ts';
import { table } from '../table.ts';

/** What could not be worked on, and nobody has looked after yet. */
export const deadLettersList: CommandSpec = {
  name: 'list',
  about: 'what could not be taken up or decided, and waits for a person',
  options: [{ flags: '--all', about: 'also those that were retried or discarded' }],
  examples: ['longrein dead-letters list', 'longrein dead-letters list --all --json'],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const { readLetters } = await import('../dead-letters/topic.ts');
    const all = await withLog(call.environment, readLetters);
    const letters = flagOption(call, 'all') ? all : all.filter(({ state }) => state === 'open');
    if (call.json) writeJson(call, { letters });
    else call.terminal.out(await tell(call, letters, all.length));
    return exitCodes.done;
  },
};

async function tell(call: Call, letters: readonly Letter[], count: number): Promise<string> {
  if (letters.length === 0) {
    const others =
      count === 0 ? '' : ` ${count} were looked after: longrein dead-letters list --all`;
    return `No dead letters wait.${others}\n`;
  }
  const { originText } = await import('../dead-letters/letter.ts');
  const { bold, dim, green, yellow } = call.terminal.colors;
  const paints: Record<string, (text: string) => string> = {
    open: yellow,
    retried: green,
    discarded: dim,
  };
  const columns = [
    { title: 'LETTER' },
    { title: 'AT (UTC)' },
    { title: 'STATE', paint: (cell: string, value: string) => paints[value]?.(cell) ?? cell },
    { title: 'REASON' },
    { title: 'ABOUT' },
    { title: 'ORIGIN' },
    { title: 'MESSAGE' },
  ];
  const rows = letters.map((one) => [
    shortId(one.id),
    one.at.slice(0, 19).replace('T', ' '),
    one.state,
    one.reason.code,
    one.goalId ?? (one.session === undefined ? '' : shortId(one.session)),
    originText(one),
    one.reason.message,
  ]);
  const text = table({ columns, rows, widthMax: call.terminal.columns, paintTitle: bold });
  return `${text}${dim('All of one: longrein dead-letters show LETTER')}\n`;
}

/** All of one letter, with the bytes that it holds. */
export const deadLettersShow: CommandSpec = {
  name: 'show <letter>',
  about: 'one dead letter: why, where from, what it holds, what a retry would do',
  examples: [
    'longrein dead-letters show msg_1f0c2d',
    'longrein dead-letters show msg_1f0c2d --json',
  ],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const { letterNamed, readLetters } = await import('../dead-letters/topic.ts');
    const { planRetry } = await import('../dead-letters/plan-retry.ts');
    const [name = ''] = call.args;
    const letter = letterNamed(await withLog(call.environment, readLetters), name);
    const retry = await planRetry(call, letter);
    const { textOfLetter, retryText } = await import('../dead-letters/letter-text.ts');
    if (call.json) writeJson(call, { ...letter, retry: retryText(retry) });
    else call.terminal.out(textOfLetter(call.terminal.colors, letter, retry));
    return exitCodes.done;
  },
};
