import { type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { goalNameOf, goalNameOptions } from '../goal-name.ts';

/** Asks that a goal stop. A cancel that comes before its goal is kept for it. */
export const goalCancel: CommandSpec = {
  name: 'cancel <id>',
  about: 'ask that a goal stop, by its goal id or session id',
  options: [{ flags: '--reason <text>', about: 'why; it stands in the log' }, ...goalNameOptions],
  examples: ['longrein goal cancel g-3f9c0a1b2c4d --reason "wrong file"'],
  async run(call) {
    const { withHarness } = await import('../log-client.ts');
    const [id = ''] = call.args;
    const reason = textOption(call, 'reason');
    const options = { requestedBy: 'cli', ...(reason === undefined ? {} : { reason }) };
    const { session, published } = await withHarness(call.environment, async (harness) => {
      const named = harness.session(goalNameOf(call));
      return { session: named.id, published: await named.cancel(options) };
    });
    if (call.json) writeJson(call, { cancel: id, session, ...published });
    else {
      call.terminal.out(`Asked that ${id} stop (session ${session}).\n`);
      call.terminal.out(`See how it ended: longrein session show ${session}\n`);
    }
    return exitCodes.done;
  },
};
