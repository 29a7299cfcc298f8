import { type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { jsonOrText } from '../goal-draft.ts';
import { goalNameOf, goalNameOptions } from '../goal-name.ts';

/** Tells a running goal that something happened. */
export const goalSignal: CommandSpec = {
  name: 'signal <id> <name>',
  about: 'tell a running goal that something happened: a loop of its plan may wait for it',
  options: [
    { flags: '--payload <value>', about: 'what the loop sees of it: JSON, else text' },
    {
      flags: '--signal-id <id>',
      about: 'the same id again is the same signal; random if not given',
    },
    ...goalNameOptions,
  ],
  examples: [`longrein goal signal on-call alert --payload '{"service":"shop"}'`],
  async run(call) {
    const { withHarness } = await import('../log-client.ts');
    const [, name = ''] = call.args;
    const payload = textOption(call, 'payload');
    const id = textOption(call, 'signalId');
    const options = {
      ...(payload === undefined ? {} : { payload: jsonOrText(payload) }),
      ...(id === undefined ? {} : { id }),
    };
    const of = goalNameOf(call);
    const { session, published } = await withHarness(call.environment, async (harness) => {
      const named = harness.session(of);
      return { session: named.id, published: await named.signal(name, options) };
    });
    if (call.json) writeJson(call, { session, name, ...published });
    else call.terminal.out(`Told session ${session}: ${name}.\n`);
    return exitCodes.done;
  },
};
