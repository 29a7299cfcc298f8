import { type CommandSpec, flagOption } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { layoutOf, sourceOptions, tell, unmaskedOption, withView } from '../replay-call.ts';

/** Two sessions side by side. */
export const replayDiff: CommandSpec = {
  name: 'diff <a> <b>',
  about: 'two sessions side by side: outcome, cost, time, tokens, and where their paths part',
  options: [
    { flags: '--all', about: 'with the steps that are the same' },
    unmaskedOption,
    ...sourceOptions.filter(({ flags }) => flags.startsWith('--source')),
  ],
  examples: [
    'longrein replay diff ses_0f3a9c ses_7b21d0',
    'longrein replay diff before.jsonl after.jsonl --json',
  ],
  async run(call) {
    const { diffOf } = await import('../../../../replay-tools/diff/diff.ts');
    const { diffDocument, diffLines } = await import('../../../../replay-tools/diff/diff-text.ts');
    const [a = '', b = ''] = call.args;
    const one = await withView(call, (history) => history, a);
    const other = await withView(call, (history) => history, b);
    const diff = diffOf(one, other);
    const all = flagOption(call, 'all');
    tell(
      call,
      () => diffDocument(diff),
      () => diffLines(diff, { ...layoutOf(call), all }),
    );
    return exitCodes.done;
  },
};
