import { contentCodec } from '../content/content-keys.ts';
import { fillContents, hasBlobs } from '../content/spill.ts';
import { LongreinError, toError } from '../errors.ts';
import { type Codec, schemaIdOf } from '../log/codec.ts';
import type { LogRecord } from '../log/port.ts';
import { type FillBody, sharesPast, withPast } from '../log/read-past.ts';
import { isNewerBody, type RecordBody, type Refused } from '../protocol/record.ts';
import { newerBody } from './newer-body.ts';
import type { HostPorts } from './ports.ts';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The outer shape, and the kind that acceptance was decided by. */
function isBody(value: unknown, kind: string | undefined): value is RecordBody {
  if (!isObject(value) || value['kind'] !== kind) return false;
  const { events, event, state } = value;
  if (kind === 'turn') return Array.isArray(events) && events.every(isObject);
  if (kind === 'input') return isObject(event);
  return kind !== 'checkpoint' || isObject(state);
}

/** Without a log no past can be read, and the opening of a fork is nobody's. */
type Reading = Pick<HostPorts, 'codec' | 'blobs' | 'logger' | 'keys'> &
  Partial<Pick<HostPorts, 'log'>>;

/** Contents from blobs and out of their seals; undefined where the session was erased: it is nobody's any more. */
async function withItsContents(
  body: RecordBody,
  { headers }: Pick<LogRecord, 'headers'>,
  { blobs, keys }: Reading,
): Promise<RecordBody | undefined> {
  if (body.kind === 'epoch') return body;
  try {
    if (headers['lr_codec'] === undefined) return await fillContents(body, blobs);
    if (keys === undefined)
      throw new LongreinError('CONTENT_KEYS_NEEDED', 'no keys are known here');
    const open = keys.openerOf(body.session);
    return open === undefined ? undefined : await fillContents(body, blobs, open);
  } catch (thrown) {
    const isGone = thrown instanceof LongreinError && thrown.code === 'BLOB_MISSING';
    if (isGone && keys?.erasureOf(body.session) !== undefined) return undefined;
    throw thrown;
  }
}

/** With the past that the opening of a fork shares. Throws as `withPast`. */
function withItsPast(body: RecordBody, ports: Reading): Promise<RecordBody> {
  const { codec, log } = ports;
  const fill: FillBody = (one, { codec: seal }) =>
    withItsContents(one, { headers: seal === undefined ? {} : { lr_codec: seal } }, ports);
  return withPast(body, { codec, fill, ...(log === undefined ? {} : { log }) });
}

/** What another program than this release sealed. */
const isSealedOtherwise = ({ headers }: LogRecord): boolean =>
  (headers['lr_codec'] ?? contentCodec) !== contentCodec;

/**
 * The body of a record with its blobs. Bytes that cannot be read are nobody's: undefined, for every reader alike; but
 * where a newer release wrote them, they are what `newerBody` makes of them. What may be readable later (a blob store or
 * a registry that is away) throws a retryable LongreinError.
 */
async function readBody(
  record: LogRecord,
  ports: Reading,
  onUnreadable: (reason: Refused) => void,
): Promise<RecordBody | undefined> {
  const { topic, partition, offset, value } = record;
  if (isNewerBody(record.headers) || isSealedOtherwise(record)) return newerBody(record);
  try {
    if (value === null) throw new LongreinError('RECORD_EMPTY', 'the record has no value');
    const { body } = ports.codec.decode(value);
    if (!isBody(body, record.headers['lr_kind']))
      throw new LongreinError('RECORD_MALFORMED', 'the value is not what its headers say');
    const isWhole = record.headers['lr_codec'] === undefined && !hasBlobs(body);
    const filled = isWhole ? body : await withItsContents(body, record, ports);
    // Nothing is waited for where nothing has to be: every record of the log comes through here.
    return filled !== undefined && sharesPast(filled) ? await withItsPast(filled, ports) : filled;
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof LongreinError && error.retryable) throw error;
    if (await isOfNewer(record, ports.codec)) return newerBody(record);
    const fields = { topic, partition, offset, error: error.message };
    ports.logger.error(fields, 'record cannot be read; every reader ignores it');
    const code = error instanceof LongreinError ? error.code : 'RECORD_UNREADABLE';
    onUnreadable({ code, message: error.message });
    return undefined;
  }
}

/**
 * Whether the schema is a later one than this release knows. Only what has not the shape of a record is asked about: a
 * schema that only adds to it is read as it is, or no release could be rolled back. What must not be passed over in a
 * record gets another record version.
 */
async function isOfNewer({ value, headers }: LogRecord, codec: Codec): Promise<boolean> {
  const schemaId = value === null ? undefined : schemaIdOf(value);
  if (schemaId === undefined) return false;
  return (await codec.isNewer?.(headers['lr_kind'] ?? '', schemaId)) === true;
}

const waitMsMax = 5_000;

/** The same; waits for what is away, since the order of the log allows nothing else (DESIGN 3.14). */
export async function readBodyPatiently(
  record: LogRecord,
  ports: Reading & Pick<HostPorts, 'clock'>,
  onUnreadable: (reason: Refused) => void = () => undefined,
): Promise<RecordBody | undefined> {
  for (let tries = 0; ; tries++) {
    try {
      return await readBody(record, ports, onUnreadable);
    } catch (thrown) {
      const { topic, partition, offset } = record;
      if (!(thrown instanceof LongreinError) || !thrown.retryable) throw thrown;
      const fields = { topic, partition, offset, error: toError(thrown).message };
      ports.logger.warn(fields, 'record waits for its contents');
      const waitMs = Math.min(waitMsMax, 100 * 2 ** Math.min(tries, 6));
      await new Promise<void>((resolve) => {
        ports.clock.after(waitMs, resolve);
      });
    }
  }
}
