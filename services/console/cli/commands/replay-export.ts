import { resolve } from 'node:path';
import { release } from '../../../chassis/config/package-root.ts';
import { exportSealOf } from '../config.ts';
import { type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { bytes, count } from '../figures.ts';
import { sourceOptions, wantedOf } from '../replay-call.ts';

/** Writes a session to one file that shows any change. */
export const replayExport: CommandSpec = {
  name: 'export <session>',
  about: 'write a session to one file, for people elsewhere or for later',
  options: [{ flags: '--out <file>', about: 'the file to write' }, ...sourceOptions],
  examples: ['longrein replay export ses_0f3a9c --out session.jsonl'],
  async run(call) {
    const out = textOption(call, 'out');
    if (out === undefined)
      throw new UsageError('--out is missing', 'Name a file: --out session.jsonl');
    const { withSession } = await import('../session-source.ts');
    const { exportToFile } = await import('../../../../replay-tools/export/export.ts');
    return await withSession(wantedOf(call), async (source) => {
      const seal = exportSealOf(call.environment, source);
      const report = await exportToFile(source, resolve(call.workingDir, out), { release, seal });
      if (call.json) writeJson(call, { session: source.session, ...report });
      else {
        const size = `${bytes(report.bytes)}, ${count(report.lines, 'line')}`;
        call.terminal.out(`Wrote ${report.path} (${size}) from ${source.origin}.\n`);
        call.terminal.out(`Check it: longrein replay verify ${source.session} --file ${out}\n`);
      }
      return exitCodes.done;
    });
  },
};
