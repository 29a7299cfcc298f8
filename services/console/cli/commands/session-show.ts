import type { JudgedSession } from '../../../../replay-tools/read/session.ts';
import { type Call, type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { cutPlain, cuttingPalette, paletteOf } from '../palette.ts';
import type { SourceName } from '../session-source.ts';

/** What happened in a session, in order. */
export const sessionShow: CommandSpec = {
  name: 'show <session>',
  about: 'what happened in a session; takes a session id, its start, or a goal id',
  options: [
    { flags: '--full', about: 'with the contents of every event' },
    { flags: '--all', about: 'with the records that count for nothing, and why' },
    {
      flags: '--source <source>',
      about: 'kafka if not given',
      choices: ['kafka', 'clickhouse', 'file'],
    },
    { flags: '--file <file>', about: 'an exported session, for --source file' },
  ],
  examples: ['longrein session show g-3f9c0a1b2c4d', 'longrein session show ses_0f3a9c --full'],
  async run(call) {
    const { withSession } = await import('../session-source.ts');
    const { judgeSession } = await import('../../../../replay-tools/read/session.ts');
    return await withSession(wantedOf(call), async (source) => {
      const judged = await judgeSession(source);
      if (call.json) writeJson(call, documentOf(judged));
      else await tell(call, judged);
      return exitCodes.done;
    });
  },
};

/** Where a session is to be read from, by the options of this command and of `replay`. */
export function wantedOf(call: Call) {
  const [id = ''] = call.args;
  const { environment, workingDir } = call;
  const file = textOption(call, 'file');
  const fallback = file === undefined ? 'kafka' : 'file';
  const source = (textOption(call, 'source') ?? fallback) as SourceName;
  return { environment, workingDir, id, source, ...(file === undefined ? {} : { file }) };
}

function documentOf({ source, core, records }: JudgedSession) {
  const { session, topic, partition, origin } = source;
  const events = records.flatMap(({ record, step }) =>
    (step?.events ?? []).map(({ atMs, type, index, service, data, content }) => ({
      at: new Date(atMs).toISOString(),
      offset: record.offset,
      index,
      record: record.header.id,
      service,
      type,
      data,
      content,
    })),
  );
  const ignoredRecords = records.filter(({ verdict }) => verdict !== 'effective').length;
  const { tenant, principal, labels } = core.meta;
  const place = { session, topic, partition, origin, status: core.status };
  return { ...place, tenant, principal, labels, ignoredRecords, events };
}

async function tell(call: Call, judged: JudgedSession): Promise<void> {
  const { timelineLines } = await import('../../../../replay-tools/show/timeline.ts');
  const { terminal } = call;
  const full = flagOption(call, 'full');
  const all = flagOption(call, 'all');
  const cutting = terminal.outIsTty && !full;
  const palette = cutting ? cuttingPalette(terminal) : paletteOf(terminal.colors);
  for (const line of timelineLines(judged, { full, all, palette })) {
    terminal.out(`${cutting ? cutPlain(line, terminal.columns) : line}\n`);
  }
}
