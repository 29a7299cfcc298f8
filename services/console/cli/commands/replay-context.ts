import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { JsonValue } from '../../../../schemas/json.ts';
import { LongreinError } from '../../../chassis/errors.ts';
import { blobDirOf, contentKeysOf } from '../config.ts';
import { type Call, type CommandSpec, flagOption, textOption } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-code.ts';
import {
  layoutOf,
  shownTo,
  sourceOptions,
  tell,
  unmaskedOption,
  withView,
} from '../replay-call.ts';

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
    { flags: '--full', about: 'with long messages in full, which a terminal shows folded' },
    { flags: '--kept', about: 'what was kept when the session failed; reads no log' },
    unmaskedOption,
    ...sourceOptions,
  ],
  examples: [
    'longrein replay context ses_0f3a9c audit.1 --at 54.0',
    'longrein replay context ses_0f3a9c --out windows.json',
    'longrein replay context ses_0f3a9c --kept',
  ],
  async run(call) {
    if (flagOption(call, 'kept')) return await kept(call);
    const { contextOf, contextsOf } = await import('../../../../replay-tools/context/context.ts');
    const { contextDocument, contextLines } = await import(
      '../../../../replay-tools/context/context-text.ts'
    );
    const { findEvent } = await import('../../../../replay-tools/read/find-event.ts');
    return await withView(call, async (history) => {
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
            ? linesOf(windows.map((one) => contextLines(one, windowLayout(call))))
            : [
                `Wrote ${out}: ${windows.map((one) => one.agent).join(', ') || 'no agent asked a model'}.`,
              ],
      );
      return exitCodes.done;
    });
  },
};

const windowLayout = (call: Call) => ({ ...layoutOf(call), full: flagOption(call, 'full') });

/** Windows with a blank line between them. */
function linesOf(windows: readonly (readonly string[])[]): readonly string[] {
  if (windows.length === 0) return ['No agent asked a model: there is no context to show.'];
  return windows.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

type KeptDocument = Readonly<{ session: string; at: string; context: JsonValue }>;

/** The windows that the event store kept of a session that failed. Throws CONTEXT_NOT_KEPT. */
async function kept(call: Call): Promise<ExitCode> {
  const { keptOf, readKept } = await import('../kept-contexts.ts');
  const { keptLines } = await import('../../../../replay-tools/context/context-text.ts');
  const { sessionOf } = await import('../session-source.ts');
  const { environment } = call;
  const session = await sessionOf(environment, call.args[0] ?? '');
  const paths = await keptOf(blobDirOf(environment), session);
  if (paths.length === 0)
    throw new LongreinError('CONTEXT_NOT_KEPT', `no context of ${session} was kept`, {
      fix: `it did not fail, asked no model before, or another blob directory has it; ask the log: longrein replay context ${session}`,
    });
  const keys = contentKeysOf(environment);
  const documents = await Promise.all(paths.map((path) => readKept(path, keys)));
  const contexts = (await shownTo(call, documents)) as unknown as readonly KeptDocument[];
  tell(
    call,
    () => ({ session, paths, contexts }),
    () =>
      linesOf(
        contexts.map(({ at, context }) => [
          `Kept when the session failed at ${at}`,
          ...keptLines(context, windowLayout(call)),
        ]),
      ),
  );
  return exitCodes.done;
}
