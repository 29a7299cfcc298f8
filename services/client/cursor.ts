/**
 * Where somebody stands in following a session, as text that another process can go on from. For each partition: where
 * reading has to begin, and what was seen last.
 */
import { z } from 'zod';
import { CursorInvalidError } from './errors.ts';

const place = z.tuple([z.int().min(0), z.int().min(-1), z.int().min(-1)]);
const form = z.strictObject({
  v: z.literal(1),
  s: z.string(),
  p: z.record(z.string(), place),
  /** The result was seen: there is nothing more. */
  e: z.literal(true).optional(),
});

/** The first record that is needed, and the newest event that was handed out: offset and index; -1 for none. */
export type Place = Readonly<{ from: number; offset: number; index: number }>;

export type Cursor = Readonly<{
  session: string;
  /** By `topic/partition`. */
  places: ReadonlyMap<string, Place>;
  ended: boolean;
}>;

/** As text of letters, digits, - and _. */
export function writeCursor({ session, places, ended }: Cursor): string {
  const entries = [...places].map(([name, at]) => [name, [at.from, at.offset, at.index]]);
  const value = { v: 1, s: session, p: Object.fromEntries(entries), ...(ended ? { e: true } : {}) };
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Throws CursorInvalidError if the text is no cursor of this session. */
export function readCursor(text: string, session: string): Cursor {
  const value = parsed(text);
  if (value.s !== session)
    throw new CursorInvalidError(`the cursor is one of ${value.s}, not of ${session}`);
  const places = Object.entries(value.p).map(([name, [from, offset, index]]): [string, Place] => [
    name,
    { from, offset, index },
  ]);
  return { session, places: new Map(places), ended: value.e === true };
}

function parsed(text: string): z.infer<typeof form> {
  try {
    return form.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  } catch {
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    throw new CursorInvalidError(`"${shown}" is not a cursor`);
  }
}
