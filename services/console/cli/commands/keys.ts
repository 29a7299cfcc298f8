import { LongreinError } from '../../../chassis/errors.ts';
import { contentKeysOf } from '../config.ts';
import { type Call, type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { count } from '../figures.ts';
import { table } from '../table.ts';

/** Which keys of tenants wrap how many keys of sessions. Never a key. */
export const keysList: CommandSpec = {
  name: 'list',
  about: 'which keys of tenants wrap how many keys of sessions',
  examples: ['longrein keys list'],
  async run(call) {
    const counts = enabled(call).counts();
    if (call.json) writeJson(call, { keys: counts });
    else if (counts.length === 0) call.terminal.out('No session has a key yet.\n');
    else {
      const columns = [{ title: 'TENANT' }, { title: 'KEY' }, { title: 'SESSIONS', right: true }];
      const rows = counts.map(({ tenant, key, sessions, current }) => [
        ...[tenant, `${key}${current ? '' : ' (not current)'}`],
        String(sessions),
      ]);
      const { columns: widthMax, colors } = call.terminal;
      call.terminal.out(table({ columns, rows, widthMax, paintTitle: colors.bold }));
    }
    return exitCodes.done;
  },
};

/** After a tenant got another key: then the old one may go. */
export const keysRewrap: CommandSpec = {
  name: 'rewrap',
  about: "wrap every session's key with the current key of its tenant; contents stay as they are",
  options: [{ flags: '--tenant <id>', about: 'of one tenant only' }],
  examples: ['longrein keys rewrap', 'longrein keys rewrap --tenant acme'],
  async run(call) {
    const done = enabled(call).rewrap(textOption(call, 'tenant'));
    if (call.json) writeJson(call, done);
    else
      call.terminal.out(
        `${count(done.rewrapped, 'key')} of ${done.keys} wrapped anew. Keys that none is wrapped with may go.\n`,
      );
    return exitCodes.done;
  },
};

function enabled(call: Call) {
  const keys = contentKeysOf(call.environment);
  if (keys.enabled) return keys;
  throw new LongreinError('CONTENT_KEYS_NEEDED', 'no keys of tenants are known', {
    fix: 'Set LONGREIN_TENANT_KEYS_FILE or LONGREIN_TENANT_KEYS_COMMAND, as the hosts have them.',
  });
}
