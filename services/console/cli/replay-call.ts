/** What the verbs on recorded sessions share: where a session is read from, and how an answer is told. */
import type { History } from '../../../replay-tools/read/history.ts';
import type { ViewMask } from '../../../replay-tools/read/masked-view.ts';
import type { SessionSource } from '../../../replay-tools/read/source.ts';
import type { Palette } from '../../../replay-tools/show/palette.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { masksFileOf } from './config.ts';
import { type Call, flagOption, type OptionSpec, textOption, writeJson } from './context.ts';
import { count } from './figures.ts';
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

/** Of verbs that show what was written: personal data is masked unless somebody asks. */
export const unmaskedOption: OptionSpec = {
  flags: '--unmasked',
  about: 'with personal data as it is (e-mail, IBAN, card, telephone, LONGREIN_MASKS_FILE)',
};

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
  asSeen: (source: SessionSource) => SessionSource = (source) => source,
): Promise<T> {
  const { withSession } = await import('./session-source.ts');
  const { judgeSession } = await import('../../../replay-tools/read/session.ts');
  const { History } = await import('../../../replay-tools/read/history.ts');
  return await withSession(wantedOf(call, id), async (source) =>
    work(new History(await judgeSession(asSeen(source))), source),
  );
}

/** What masks for the eyes of whoever called; undefined where that was not wanted. */
export async function viewMaskOf(call: Call): Promise<ViewMask | undefined> {
  if (flagOption(call, 'unmasked')) return undefined;
  const { ViewMask } = await import('../../../replay-tools/read/masked-view.ts');
  const { masksFrom } = await import('../../chassis/telemetry/masks.ts');
  return new ViewMask(masksFrom(masksFileOf(call.environment)));
}

/** The same as `withHistory`, for verbs that show what was written. */
export async function withView<T>(
  call: Call,
  work: (history: History, source: SessionSource) => Promise<T> | T,
  id?: string,
): Promise<T> {
  const mask = await viewMaskOf(call);
  const done = await withHistory(call, work, id, (source) => mask?.source(source) ?? source);
  tellMasked(call, mask?.masked ?? 0);
  return done;
}

/** Says beside the answer that something of it is masked. */
export function tellMasked(call: Call, masked: number): void {
  if (masked === 0 || call.json) return;
  call.terminal.err(
    `${count(masked, 'content')} with personal data masked; --unmasked shows all.\n`,
  );
}

/** What a verb found out, as it may be shown. */
export async function shownTo<T>(call: Call, found: T): Promise<T> {
  const mask = await viewMaskOf(call);
  return mask === undefined ? found : (mask.value(found as JsonValue) as T);
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
