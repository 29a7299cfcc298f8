import type { DataOf } from '../../schemas/event.ts';
import { accept, copyAcceptance } from '../../services/chassis/protocol/acceptance.ts';
import type { PlacedRecord, RecordBody } from '../../services/chassis/protocol/record.ts';
import { isPlaced } from './session.ts';
import type { SessionSource } from './source.ts';

/** Opens the session whose past is shared; undefined where it is not to be had. */
export type OpenShared = (session: string) => Promise<SessionSource | undefined>;

/** Accepted turns and inputs of a session up to an offset, in order. */
async function recordsUpTo(source: SessionSource, to: number): Promise<readonly PlacedRecord[]> {
  const acceptance = copyAcceptance(source.acceptance);
  const past: PlacedRecord[] = [];
  for await (const record of source.records()) {
    if (record.offset > to) break;
    const { kind, session } = record.header;
    const counts = accept(acceptance, record.header) && session === source.session;
    if (counts && (kind === 'turn' || kind === 'input') && isPlaced(record)) past.push(record);
  }
  return past;
}

/**
 * The record with the past that it shares, where it opens a fork and the past is to be had as it says; else the record
 * as it stands: what needs the past says so. Throws what the sources throw.
 */
export async function withSharedPast(body: RecordBody, open: OpenShared): Promise<RecordBody> {
  if (body.kind !== 'input' || body.event.type !== 'session.forked') return body;
  const { of, to, last } = body.event.data as unknown as DataOf<'session.forked'>;
  const source = await open(of);
  const past = source === undefined ? [] : await recordsUpTo(source, to);
  return past.at(-1)?.header.id === last ? { ...body, past } : body;
}
