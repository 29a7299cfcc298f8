import { LongreinError } from '../../../chassis/errors.ts';
import type { Call, CommandSpec } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import {
  layoutOf,
  sourceOptions,
  tell,
  unmaskedOption,
  viewMaskOf,
  wantedOf,
  withView,
} from '../replay-call.ts';

/** Why an event came: its causes back to the goal. */
export const replayWhy: CommandSpec = {
  name: 'why <session> <event>',
  about: 'the chain of causes of an event (12.0), back to the goal',
  options: [unmaskedOption, ...sourceOptions],
  examples: ['longrein replay why ses_0f3a9c 74.0', 'longrein replay why session.jsonl last'],
  async run(call) {
    const { findEvent } = await import('../../../../replay-tools/read/find-event.ts');
    const { whyOf } = await import('../../../../replay-tools/why/why.ts');
    const { whyLines } = await import('../../../../replay-tools/why/why-text.ts');
    return await withView(call, async (history) => {
      const event = findEvent(history, call.args[1] ?? '');
      const why = await whyOf(history, event, (session) => openOther(call, session));
      tell(
        call,
        () => ({ session: history.session, ...documentOf(why) }),
        () => whyLines(why, layoutOf(call)),
      );
      return exitCodes.done;
    });
  },
};

/** Another log, read whole. A file holds one only. */
async function openOther(call: Call, session: string) {
  const wanted = wantedOf(call, session);
  if (wantedOf(call).source === 'file') return undefined;
  const { withSession } = await import('../session-source.ts');
  const { readWhole } = await import('../../../../replay-tools/read/whole.ts');
  try {
    const mask = await viewMaskOf(call);
    return await withSession(wanted, (source) => readWhole(mask?.source(source) ?? source));
  } catch (thrown) {
    // Logs of goals are trimmed, and not every source has them.
    if (thrown instanceof LongreinError && thrown.code === 'SESSION_UNKNOWN') return undefined;
    throw thrown;
  }
}

type Why = Awaited<ReturnType<typeof import('../../../../replay-tools/why/why.ts').whyOf>>;

const documentOf = ({ links, beyond }: Why) => ({
  links: links.map(({ session, happening, others }) => {
    const { place, address, who, event } = happening;
    const at = new Date(event.atMs).toISOString();
    const besides = others.map((other) => other.address);
    const { type, data } = event;
    return { session, place, address, at, who, type, data, besides };
  }),
  ...(beyond === undefined ? {} : { beyond }),
});
