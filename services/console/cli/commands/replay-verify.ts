import { toError } from '../../../chassis/errors.ts';
import { type Call, type CommandSpec, writeJson } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-code.ts';
import { printFailure } from '../failure.ts';
import { paletteOf } from '../palette.ts';
import { sourceOptions, wantedOf } from '../replay-call.ts';

/** Decides a session again and says where it comes out otherwise. */
export const replayVerify: CommandSpec = {
  name: 'verify <session>',
  about: 'compute every decision of a session again; exit 3 if one comes out otherwise',
  options: [...sourceOptions],
  examples: [
    'longrein replay verify ses_0f3a9c',
    'longrein replay verify ses_0f3a9c --file session.jsonl',
  ],
  async run(call) {
    try {
      return await verify(call);
    } catch (thrown) {
      // An export that was changed is a difference like any other; it is found before the decisions.
      const { code } = toError(thrown) as Error & { code?: unknown };
      if (code !== 'EXPORT_CORRUPT') throw thrown;
      printFailure(call, thrown, call.json);
      return exitCodes.differs;
    }
  },
};

async function verify(call: Call): Promise<ExitCode> {
  const { withSession } = await import('../session-source.ts');
  const { verifySession } = await import('../../../../replay-tools/verify/verify.ts');
  const { reportLines } = await import('../../../../replay-tools/verify/report-text.ts');
  const report = await withSession(wantedOf(call), (source) => verifySession(source));
  if (call.json) writeJson(call, report);
  else {
    const lines = reportLines(report, paletteOf(call.terminal.colors));
    call.terminal.out(`${lines.join('\n')}\n`);
  }
  if (!report.identical) return exitCodes.differs;
  // A session of which nothing could be decided is not proved, and must not look like it.
  return report.status === 'unknown' ? exitCodes.failed : exitCodes.done;
}
