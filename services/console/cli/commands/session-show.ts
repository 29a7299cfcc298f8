import { type Call, type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { count, duration, oneLine } from '../figures.ts';
import { printLine } from '../live-print.ts';
import { LiveView } from '../live-view.ts';
import type { PlacedEvent, SessionEvents } from '../session-events.ts';
import type { SourceName } from '../session-source.ts';

/** What happened in a session, in order. */
export const sessionShow: CommandSpec = {
  name: 'show <session>',
  about: 'what happened in a session; takes a session id, its start, or a goal id',
  options: [
    { flags: '--full', about: 'every event with its data and contents' },
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
    const { readEvents } = await import('../session-events.ts');
    return await withSession(wantedOf(call), async (source) => {
      const seen = await readEvents(source);
      if (call.json) writeJson(call, documentOf(source.session, source.origin, seen));
      else if (flagOption(call, 'full')) tellAll(call, seen);
      else tell(call, source.session, seen);
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

function documentOf(session: string, origin: string, { events, core, ignored }: SessionEvents) {
  return {
    ...core.meta,
    session,
    origin,
    status: core.status,
    ignoredRecords: ignored,
    events: events.map(({ offset, event }) => ({
      at: new Date(event.atMs).toISOString(),
      offset,
      index: event.index,
      record: event.record,
      service: event.service,
      type: event.type,
      data: event.data,
      content: event.content,
    })),
  };
}

function tell(call: Call, session: string, { events, core, ignored }: SessionEvents): void {
  const { colors, columns, out } = call.terminal;
  const startedMs = events[0]?.event.atMs ?? 0;
  const endedMs = events.at(-1)?.event.atMs ?? startedMs;
  const opened = new Date(startedMs).toISOString().replace('T', ' ').slice(0, 19);
  const { tenant } = core.meta;
  out(`${colors.bold(session)}  ${core.status}  tenant ${tenant}  ${opened} UTC\n\n`);
  const view = new LiveView();
  for (const { event } of events) {
    const line = view.take(event);
    if (line !== undefined) printLine({ write: out, colors, columns, startedMs }, line);
  }
  const void_ = ignored === 0 ? '' : `, ${count(ignored, 'record')} ignored`;
  const total = `${count(events.length, 'event')} in ${duration(endedMs - startedMs)}${void_}`;
  out(`\n${colors.dim(`${total}; with --full all of them, with their contents`)}\n`);
}

function tellAll(call: Call, { events }: SessionEvents): void {
  const { colors, columns, out } = call.terminal;
  const startedMs = events[0]?.event.atMs ?? 0;
  for (const { offset, event } of events) {
    const seconds = ((event.atMs - startedMs) / 1_000).toFixed(3).padStart(8);
    const place = `${offset}#${event.index}`.padEnd(9);
    const head = `${colors.dim(`${seconds} s  ${place}`)}${event.service.padEnd(20)}`;
    out(`${head}  ${colors.bold(event.type)}\n`);
    for (const line of detailsOf(event, columns)) out(`${' '.repeat(22)}${line}\n`);
  }
}

const contentMax = 2_000;

function detailsOf(event: PlacedEvent['event'], columns: number): string[] {
  const data = Object.entries(event.data).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${name}  ${oneLine(text, contentMax)}`;
  });
  const contents = Object.entries(event.content ?? {}).map(([name, content]) => {
    const text = typeof content.body === 'string' ? content.body : JSON.stringify(content.body);
    return `${name} (${content.mediaType})  ${oneLine(text ?? 'not here', contentMax)}`;
  });
  return [...data, ...contents].map((line) => oneLine(line, Math.max(40, columns - 22)));
}
