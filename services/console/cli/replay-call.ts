/** What the verbs on recorded sessions share: where a session is read from, and how an answer is told. */
import type { History } from '../../../replay-tools/read/history.ts';
import type { SessionSource } from '../../../replay-tools/read/source.ts';
import type { Palette } from '../../../replay-tools/show/palette.ts';
import { type Call, type OptionSpec, textOption, writeJson } from './context.ts';
import { paletteOf } from './palette.ts';
import type { SourceName } from './session-source.ts';

export const sourceOptions: readonly OptionSpec[] = [
  {
    flags: '--source <source>',
    about: 'kafka if not given; `file` alone is what was imported',
    choices: ['kafka', 'clickhouse', 'file'],
  },
  { flags: '--file <file>', about: 'an exported session' },
];

const isFile = (name: string): boolean => name.endsWith('.jsonl') || name.includes('/');

/** Where a session is to be read from; by the options, or by a name that is a file's. */
export function wantedOf(call: Call, id: string = call.args[0] ?? '') {
  const { environment, workingDir } = call;
  const given = textOption(call, 'file');
  const named = given === undefined && isFile(id);
  const file = named ? id : given;
  const fallback = file === undefined ? 'kafka' : 'file';
  const source = (named ? 'file' : (textOption(call, 'source') ?? fallback)) as SourceName;
  const wanted = { environment, workingDir, id: named ? '' : id, source };
  return file === undefined ? wanted : { ...wanted, file };
}

/** Opens the session that the call names and reads it whole. */
export async function withHistory<T>(
  call: Call,
  work: (history: History, source: SessionSource) => Promise<T> | T,
  id?: string,
): Promise<T> {
  const { withSession } = await import('./session-source.ts');
  const { judgeSession } = await import('../../../replay-tools/read/session.ts');
  const { History } = await import('../../../replay-tools/read/history.ts');
  return await withSession(wantedOf(call, id), async (source) =>
    work(new History(await judgeSession(source)), source),
  );
}

/** Colours and, on a terminal, the width that lines have to fit. */
export function layoutOf({ terminal }: Pick<Call, 'terminal'>): {
  palette: Palette;
  columns?: number;
} {
  const palette = paletteOf(terminal.colors);
  return terminal.outIsTty ? { palette, columns: terminal.columns } : { palette };
}

/** One JSON document, or lines. */
export function tell(call: Call, document: () => unknown, lines: () => readonly string[]): void {
  if (call.json) writeJson(call, document());
  else call.terminal.out(`${lines().join('\n')}\n`);
}
