import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type CommandSpec, textOption } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { layoutOf, sourceOptions, tell, withHistory } from '../replay-call.ts';

/** The whole context window of an agent. */
export const replayContext: CommandSpec = {
  name: 'context <session> [agent]',
  about: 'the context window of an agent as its model got it, or of every agent',
  options: [
    {
      flags: '--at <event>',
      about: 'the newest window at this event (12.0); the last if not given',
    },
    { flags: '--out <file>', about: 'write it to a file, as JSON' },
    ...sourceOptions,
  ],
  examples: [
    'longrein replay context ses_0f3a9c audit.1 --at 54.0',
    'longrein replay context ses_0f3a9c --out windows.json',
  ],
  async run(call) {
    const { contextOf, contextsOf } = await import('../../../../replay-tools/context/context.ts');
    const { contextDocument, contextLines } = await import(
      '../../../../replay-tools/context/context-text.ts'
    );
    const { findEvent } = await import('../../../../replay-tools/read/find-event.ts');
    return await withHistory(call, async (history) => {
      const agent = call.args[1];
      const at = textOption(call, 'at');
      const event = at === undefined ? undefined : findEvent(history, at);
      const windows =
        agent === undefined ? contextsOf(history, event) : [contextOf(history, agent, event)];
      const document = { session: history.session, contexts: windows.map(contextDocument) };
      const out = textOption(call, 'out');
      if (out !== undefined)
        await writeFile(resolve(call.workingDir, out), `${JSON.stringify(document, null, 2)}\n`);
      tell(
        call,
        () => document,
        () =>
          out === undefined
            ? windows.flatMap((one, index) => [
                ...(index === 0 ? [] : ['']),
                ...contextLines(one, layoutOf(call)),
              ])
            : [
                `Wrote ${out}: ${windows.map((one) => one.agent).join(', ') || 'no agent asked a model'}.`,
              ],
      );
      return exitCodes.done;
    });
  },
};
