import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { release } from '../../../chassis/config/package-root.ts';
import { type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { sourceOptions, wantedOf } from '../replay-call.ts';

/** A session that can be given away. */
export const replayAnonymise: CommandSpec = {
  name: 'anonymise <session>',
  about: 'write a session with other names, texts and keys to a file, marked so',
  options: [
    { flags: '--out <file>', about: 'the file to write' },
    {
      flags: '--key <key>',
      about: 'decides the names, so that files fit together; random if not given',
    },
    ...sourceOptions,
  ],
  examples: ['longrein replay anonymise ses_0f3a9c --out for-the-vendor.jsonl'],
  async run(call) {
    const out = textOption(call, 'out');
    if (out === undefined)
      throw new UsageError('--out is missing', 'Name a file: --out other.jsonl');
    const { withSession } = await import('../session-source.ts');
    const { exportToFile } = await import('../../../../replay-tools/export/export.ts');
    const { anonymised } = await import('../../../../replay-tools/anonymise/anonymise.ts');
    const key = textOption(call, 'key') ?? randomBytes(32).toString('hex');
    return await withSession(wantedOf(call), async (source) => {
      const other = await anonymised(source, key);
      const report = await exportToFile(other, resolve(call.workingDir, out), { release });
      if (call.json) writeJson(call, { session: other.session, ...report });
      else {
        call.terminal.out(`Wrote ${report.path}: ${other.session}, marked as anonymised.\n`);
        call.terminal.out('Read it before you give it away: names of states and codes stay.\n');
      }
      return exitCodes.done;
    });
  },
};
