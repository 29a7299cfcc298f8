import type { JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import type { AcceptanceState } from '../../services/chassis/protocol/acceptance.ts';
import { sha256 } from '../../services/chassis/protocol/hash.ts';
import type { RecordBody, RecordHeader } from '../../services/chassis/protocol/record.ts';

/**
 * The form of an export: JSON lines, each `{"sum":"…","item":{…}}`. A line's sum covers its item and the sum of the line
 * before it, so that a changed byte is found in its line, and a line that is missing or in another place where it would
 * have to follow.
 */
export const exportVersion = 1;

/** The first line. */
export type ExportHead = Readonly<{
  export: number;
  session: string;
  topic: string;
  partition: number;
  /** Release of the program that wrote it. */
  release: string;
  from: number;
  acceptance: AcceptanceState;
  whole: boolean;
  /** Names and texts were replaced, ids and digests computed again over what stands here. */
  anonymised?: true;
  /** A rehearsal, and what it shares with whom. */
  fork?: Readonly<{ session: string; of: string; at: string; shared: number }>;
}>;

/** A record of the session. Contents without body are found in an earlier line by digest. */
export type RecordItem = Readonly<{
  record: Readonly<{ offset: number; header: RecordHeader; body?: RecordBody }>;
}>;

/** What acceptance needs of a record of another session. */
export type OtherItem = Readonly<{
  other: Readonly<{ offset: number }> &
    Pick<RecordHeader, 'kind' | 'id' | 'service' | 'services' | 'epoch' | 'incarnation'> &
    Pick<RecordHeader, 'sequence'>;
}>;

/** What was written, or what it is sealed as. */
export type ContentItem = Readonly<
  { content: string } & ({ body: JsonValue } | { sealed: string })
>;

/** The last line; `sha256` is of all bytes before it. */
export type EndItem = Readonly<{ end: Readonly<{ lines: number; sha256: string }> }>;

export type ExportItem = ExportHead | RecordItem | OtherItem | ContentItem | EndItem;

const sumLength = 32;
const before = '{"sum":"';
const between = '","item":';
const prefixLength = before.length + sumLength + between.length;

const sumOf = (previous: string, item: string): string =>
  sha256(`${previous}\n${item}`).slice(0, sumLength);

/** One line with its line feed, and its sum for the next one. */
export function formatLine(previous: string, item: ExportItem): { line: string; sum: string } {
  const text = JSON.stringify(item);
  const sum = sumOf(previous, text);
  return { line: `${before}${sum}${between}${text}}\n`, sum };
}

/** What a line is about, from its text as far as it can be understood. */
function subjectOf(text: string): string {
  const record = /"record":\{"offset":(\d+),"header":\{"kind":"\w+","id":"([^"]*)"/.exec(text);
  if (record !== null) return `record ${record[2]} at offset ${record[1]}`;
  const other = /"other":\{"offset":(\d+)/.exec(text);
  if (other !== null) return `record of another session at offset ${other[1]}`;
  const content = /"content":"([0-9a-f]{8,})"/.exec(text);
  if (content !== null) return `content ${content[1]}`;
  if (text.includes('"export":')) return 'the head of the export';
  return text.includes('"end":') ? 'the end of the export' : 'a line of an unknown kind';
}

/** Error for a file that is not as it was written. */
export function corrupt(origin: string, line: number, problem: string): LongreinError {
  return new LongreinError('EXPORT_CORRUPT', `${origin}, line ${line}: ${problem}`, {
    fix: 'take another copy of the file, or export the session again',
  });
}

/** Checks a line and reads its item. Throws LongreinError EXPORT_CORRUPT, which names the line and what it is about. */
export function parseLine(
  line: string,
  at: { previous: string; number: number; origin: string },
): { item: ExportItem; sum: string } {
  const sum = line.slice(before.length, before.length + sumLength);
  const text = line.slice(prefixLength, -1);
  const whole = line === `${before}${sum}${between}${text}}`;
  if (!whole || sum !== sumOf(at.previous, text)) {
    const problem = `${subjectOf(line)} is not as it was written (its sum is wrong, or the line before it is another)`;
    throw corrupt(at.origin, at.number, problem);
  }
  return { item: JSON.parse(text) as ExportItem, sum };
}
