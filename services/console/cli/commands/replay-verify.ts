import { toError } from '../../../chassis/errors.ts';
import { type Call, type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { type ExitCode, exitCodes, UsageError } from '../exit-code.ts';
import { printFailure } from '../failure.ts';
import { paletteOf } from '../palette.ts';
import { shownTo, sourceOptions, tell, unmaskedOption, wantedOf } from '../replay-call.ts';
import { progressOf, sessionsOfQuery, sessionsOver } from '../session-choice.ts';

/** Decides a session again and says where it comes out otherwise. */
export const replayVerify: CommandSpec = {
  name: 'verify [session]',
  about: 'compute every decision of a session again; exit 3 if one comes out otherwise',
  options: [
    { flags: '--all', about: 'every session that ClickHouse lists; with --tenant, --day' },
    { flags: '--tenant <tenant>', about: 'with --all: only of this tenant' },
    { flags: '--day <day>', about: 'with --all: only opened on this day (2026-11-30, UTC)' },
    {
      flags: '--over <query>',
      about: 'SQL that gives session_id, or a directory of exported sessions',
    },
    unmaskedOption,
    ...sourceOptions,
  ],
  examples: [
    'longrein replay verify ses_0f3a9c',
    'longrein replay verify session.jsonl',
    'longrein replay verify --all --day 2026-11-30 --source clickhouse',
  ],
  async run(call) {
    if (flagOption(call, 'all') || textOption(call, 'over') !== undefined) return await gate(call);
    if (call.args[0] === undefined && textOption(call, 'file') === undefined)
      throw new UsageError('which session is missing', 'Name one, or give --all or --over.');
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
  const report = await shownTo(
    call,
    await withSession(wantedOf(call), (source) => verifySession(source)),
  );
  if (call.json) writeJson(call, report);
  else {
    const lines = reportLines(report, paletteOf(call.terminal.colors));
    call.terminal.out(`${lines.join('\n')}\n`);
  }
  if (!report.identical) return exitCodes.differs;
  // A session of which nothing could be decided is not proved, and must not look like it.
  return report.status === 'unknown' ? exitCodes.failed : exitCodes.done;
}

const statement = `
SELECT session_id FROM sessions
WHERE ({tenant:String} = '' OR tenant_id = {tenant:String})
  AND ({day:String} = '' OR toString(toDate(opened_at)) = {day:String})
ORDER BY session_id`;

async function chosen(call: Call): Promise<readonly string[]> {
  const over = textOption(call, 'over');
  if (over !== undefined) return await sessionsOver(call, over);
  const day = textOption(call, 'day') ?? '';
  if (day !== '' && !/^\d{4}-\d{2}-\d{2}$/.test(day))
    throw new UsageError(`--day "${day}" is no day`, 'Write it as 2026-11-30.');
  const parameters = { tenant: textOption(call, 'tenant') ?? '', day };
  return await sessionsOfQuery(call, { sql: statement, parameters });
}

/** Verifies many sessions. A release that decides one of them otherwise does not pass. */
async function gate(call: Call): Promise<ExitCode> {
  const { gateOf } = await import('../../../../replay-tools/verify/gate.ts');
  const { verifyMany } = await import('../verify-pool.ts');
  const { gateLines } = await import('../../../../replay-tools/verify/gate-text.ts');
  const sessions = await chosen(call);
  const progress = progressOf(call, sessions.length);
  const wanted = sessions.map((session) => wantedOf(call, session));
  const verified = await shownTo(call, await verifyMany(wanted, progress));
  const found = gateOf(verified);
  tell(
    call,
    () => found,
    () => gateLines(found, paletteOf(call.terminal.colors)),
  );
  if (found.differing > 0) return exitCodes.differs;
  return found.unreadable > 0 || found.sessions === 0 ? exitCodes.failed : exitCodes.done;
}
