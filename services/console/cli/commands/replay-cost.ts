import { type CommandSpec, textOption } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { layoutOf, sourceOptions, tell, withHistory } from '../replay-call.ts';

const keys = ['agent', 'task', 'model', 'tool', 'step'] as const;

/** What a session cost, and for what. */
export const replayCost: CommandSpec = {
  name: 'cost <session>',
  about: 'what a session cost, exact, by agent or otherwise',
  options: [{ flags: '--by <what>', about: 'agent if not given', choices: keys }, ...sourceOptions],
  examples: [
    'longrein replay cost ses_0f3a9c',
    'longrein replay cost ses_0f3a9c --by model --json',
  ],
  async run(call) {
    const { costOf } = await import('../../../../replay-tools/cost/cost.ts');
    const { costLines } = await import('../../../../replay-tools/cost/cost-text.ts');
    return await withHistory(call, (history) => {
      const by = (textOption(call, 'by') ?? 'agent') as (typeof keys)[number];
      const report = costOf(history, by);
      tell(
        call,
        () => report,
        () => costLines(report, layoutOf(call)),
      );
      return exitCodes.done;
    });
  },
};
