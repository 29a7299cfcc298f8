import { resolve } from 'node:path';
import type { SessionSource } from '../../../../replay-tools/read/source.ts';
import { release } from '../../../chassis/config/package-root.ts';
import { exportSealOf, masksFileOf } from '../config.ts';
import { type Call, type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { bytes, count } from '../figures.ts';
import { sourceOptions, wantedOf } from '../replay-call.ts';

/** Writes a session to one file that shows any change. */
export const replayExport: CommandSpec = {
  name: 'export <session>',
  about: 'write a session to one file, for people elsewhere or for later',
  options: [
    { flags: '--out <file>', about: 'the file to write' },
    {
      flags: '--masked',
      about: 'without personal data (LONGREIN_MASKS_FILE); checked by hash only',
    },
    ...sourceOptions,
  ],
  examples: [
    'longrein replay export ses_0f3a9c --out session.jsonl',
    'longrein replay export ses_0f3a9c --out for-the-ticket.jsonl --masked',
  ],
  async run(call) {
    const out = textOption(call, 'out');
    if (out === undefined)
      throw new UsageError('--out is missing', 'Name a file: --out session.jsonl');
    const { withSession } = await import('../session-source.ts');
    const { exportToFile } = await import('../../../../replay-tools/export/export.ts');
    return await withSession(wantedOf(call), async (read) => {
      const source = flagOption(call, 'masked') ? await maskedSource(call, read) : read;
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

async function maskedSource(call: Call, source: SessionSource): Promise<SessionSource> {
  const { masked } = await import('../../../../replay-tools/anonymise/anonymise.ts');
  const { masksFrom } = await import('../../../chassis/telemetry/masks.ts');
  return await masked(source, masksFrom(masksFileOf(call.environment)));
}
