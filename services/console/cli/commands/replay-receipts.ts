import type { CommandSpec } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { layoutOf, sourceOptions, tell, withHistory } from '../replay-call.ts';

/** What a session did to the world, effect by effect. */
export const replayReceipts: CommandSpec = {
  name: 'receipts <session>',
  about: 'for each tool and model call: who allowed it, who made it, how it ended (not signed yet)',
  options: sourceOptions,
  examples: [
    'longrein replay receipts ses_0f3a9c',
    'longrein replay receipts session.jsonl --json',
  ],
  async run(call) {
    const { receiptsOf } = await import('../../../../replay-tools/receipts/receipts.ts');
    const { receiptLines } = await import('../../../../replay-tools/receipts/receipts-text.ts');
    return await withHistory(call, (history) => {
      const report = receiptsOf(history);
      tell(
        call,
        () => report,
        () => receiptLines(report, layoutOf(call)),
      );
      return exitCodes.done;
    });
  },
};
