import type { CommandSpec } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { layoutOf, sourceOptions, tell, unmaskedOption, withView } from '../replay-call.ts';

/** Where a failed session went wrong. */
export const replayFirstFailure: CommandSpec = {
  name: 'first-failure <session>',
  about: 'the first event that made the failure inevitable, and what it led to',
  options: [unmaskedOption, ...sourceOptions],
  examples: [
    'longrein replay first-failure ses_0f3a9c',
    'longrein replay first-failure session.jsonl --json',
  ],
  async run(call) {
    const { firstFailureOf } = await import(
      '../../../../replay-tools/first-failure/first-failure.ts'
    );
    const { firstFailureLines } = await import(
      '../../../../replay-tools/first-failure/first-failure-text.ts'
    );
    return await withView(call, (history) => {
      const found = firstFailureOf(history);
      const { first, outcome, because, chain, harmless } = found;
      const places = (list: typeof chain) =>
        list.map(({ place, address, event: { type } }) => ({ place, address, type }));
      const { place, address, event, scope } = first;
      tell(
        call,
        () => ({
          session: history.session,
          first: {
            place,
            address,
            type: event.type,
            ...scope,
            data: event.data,
            content: event.content,
          },
          because,
          outcome: { place: outcome.place, address: outcome.address, type: outcome.event.type },
          chain: places(chain),
          harmless: places(harmless),
        }),
        () => firstFailureLines(history, found, layoutOf(call)),
      );
      return exitCodes.done;
    });
  },
};
