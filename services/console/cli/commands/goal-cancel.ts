import type { GoalName } from '../../../client/goal-name.ts';
import { parentOf } from '../child-parent.ts';
import { type Call, type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { goalNameOf, goalNameOptions } from '../goal-name.ts';

type Meant = Readonly<{ of: GoalName; child?: string }>;

/** The goal that is meant, or one child of it: by the option, or by the id of a child that the event store knows. */
async function meantBy(call: Call): Promise<Meant> {
  const child = textOption(call, 'child');
  if (child !== undefined) return { of: goalNameOf(call), child };
  const [id = ''] = call.args;
  const parent = id.startsWith('ses_') ? await parentOf(call.environment, id) : undefined;
  return parent === undefined ? { of: goalNameOf(call) } : { of: parent, child: id };
}

/** Asks that a goal stop. A cancel that comes before its goal is kept for it. */
export const goalCancel: CommandSpec = {
  name: 'cancel <id>',
  about: 'ask that a goal stop, by its goal id or session id; or one child session of it',
  options: [
    { flags: '--reason <text>', about: 'why; it stands in the log' },
    { flags: '--child <session>', about: 'stop only this child session; the goal goes on' },
    ...goalNameOptions,
  ],
  examples: [
    'longrein goal cancel g-3f9c0a1b2c4d --reason "wrong file"',
    'longrein goal cancel g-3f9c0a1b2c4d --child ses_5b0c…',
  ],
  async run(call) {
    const { withHarness } = await import('../log-client.ts');
    const [id = ''] = call.args;
    const reason = textOption(call, 'reason');
    const { of, child } = await meantBy(call);
    const options = {
      requestedBy: 'cli',
      ...(reason === undefined ? {} : { reason }),
      ...(child === undefined ? {} : { child }),
    };
    const { session, published } = await withHarness(call.environment, async (harness) => {
      const named = harness.session(of);
      return { session: named.id, published: await named.cancel(options) };
    });
    const ofChild = child === undefined ? {} : { child };
    if (call.json) writeJson(call, { cancel: id, session, ...ofChild, ...published });
    else {
      const what = child === undefined ? id : `child session ${child}`;
      call.terminal.out(`Asked that ${what} stop (session ${session}).\n`);
      call.terminal.out(`See how it ended: longrein session show ${child ?? session}\n`);
    }
    return exitCodes.done;
  },
};
