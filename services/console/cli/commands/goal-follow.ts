import { type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { goalNameOf, goalNameOptions } from '../goal-name.ts';
import {
  finishFollowed,
  linePrinterOf,
  liveOptions,
  tokensOption,
  untilInterrupted,
} from '../live-follow.ts';

/** Follows a goal that was asked for before, by whomever, to its result. */
export const goalFollow: CommandSpec = {
  name: 'follow <id>',
  about: 'watch a goal to its result, by its goal id or session id (exit 1 unless completed)',
  options: [
    { flags: '--after <cursor>', about: 'go on where an earlier follower stopped' },
    tokensOption,
    ...goalNameOptions,
  ],
  examples: ['longrein goal follow g-3f9c0a1b2c4d', 'longrein goal follow ses_… --json'],
  async run(call) {
    const { withHarness } = await import('../log-client.ts');
    const { followSession } = await import('../submit.ts');
    const after = textOption(call, 'after');
    const of = goalNameOf(call);
    const [id = ''] = call.args;
    let cursor = after ?? '';
    const advice = (): string =>
      `Go on here: longrein goal follow ${id}${cursor === '' ? '' : ` --after ${cursor}`}`;
    const followed = await untilInterrupted(call, advice, () =>
      withHarness(call.environment, (harness) =>
        followSession(harness, of, {
          ...liveOptions(call, linePrinterOf(call)),
          ...(after === undefined ? {} : { after }),
          onCursor: (now) => {
            cursor = now;
          },
        }),
      ),
    );
    if (followed !== undefined) return finishFollowed(call, followed);
    if (call.json) writeJson(call, { events: 0, result: null });
    else call.terminal.out('The cursor stands behind the result: there is nothing more.\n');
    return exitCodes.done;
  },
};
