import { sessionId } from '../../../chassis/protocol/ids.ts';
import { type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';

/** Asks that a goal stop. A cancel that comes before its goal is kept for it. */
export const goalCancel: CommandSpec = {
  name: 'cancel <id>',
  about: 'ask that a goal stop, by its goal id or session id',
  options: [
    { flags: '--reason <text>', about: 'why; it stands in the log' },
    { flags: '--tenant <tenant>', about: 'the tenant of the goal, if it named one' },
    { flags: '--source <source>', about: 'the ce_source of the goal, if it had one' },
  ],
  examples: ['longrein goal cancel g-3f9c0a1b2c4d --reason "wrong file"'],
  async run(call) {
    const { publish, withLog } = await import('../log-client.ts');
    const [id = ''] = call.args;
    const tenant = textOption(call, 'tenant');
    const source = textOption(call, 'source');
    const reason = textOption(call, 'reason');
    const body = {
      cancel: id,
      requestedBy: 'cli',
      ...(tenant === undefined ? {} : { tenant }),
      ...(source === undefined ? {} : { source }),
      ...(reason === undefined ? {} : { reason }),
    };
    const headers = { ce_specversion: '1.0', ce_type: 'longrein.goal-cancel.v1' };
    const published = await withLog(call.environment, (log) => publish(log, id, { headers, body }));
    const known = id.startsWith('ses_');
    const session = known ? id : sessionId(tenant ?? 'default', source ?? '', id);
    if (call.json) writeJson(call, { cancel: id, session, ...published });
    else {
      call.terminal.out(`Asked that ${id} stop (session ${session}).\n`);
      call.terminal.out(`See how it ended: longrein session show ${session}\n`);
    }
    return exitCodes.done;
  },
};
