import { fillContents, hasBlobs } from '../content/spill.ts';
import { LongreinError, toError } from '../errors.ts';
import type { Codec } from '../log/codec.ts';
import type { LogRecord } from '../log/port.ts';
import type { RecordBody } from '../protocol/record.ts';
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

/**
 * The body of a record with its blobs. Bytes that cannot be read are nobody's: undefined, for every reader alike. What
 * may be readable later (a blob store or a registry that is away) throws a retryable LongreinError, what a newer release
 * wrote SCHEMA_NEWER.
 */
async function readBody(
  record: LogRecord,
  ports: Pick<HostPorts, 'codec' | 'blobs' | 'logger'>,
): Promise<RecordBody | undefined> {
  const { topic, partition, offset, value } = record;
  try {
    if (value === null) throw new LongreinError('RECORD_EMPTY', 'the record has no value');
    const { body, subject, schemaId } = ports.codec.decode(value);
    if (subject === undefined) await requireKnown(record, schemaId, ports.codec);
    if (!isBody(body, record.headers['lr_kind']))
      throw new LongreinError('RECORD_MALFORMED', 'the value is not what its headers say');
    return hasBlobs(body) ? await fillContents(body, ports.blobs) : body;
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof LongreinError && (error.retryable || error.code === newerCode))
      throw error;
    const fields = { topic, partition, offset, error: error.message };
    ports.logger.error(fields, 'record cannot be read; every reader ignores it');
    return undefined;
  }
}

const newerCode = 'SCHEMA_NEWER';

/**
 * An id that this release did not register: an older release's is read, for new schemas read old records. A newer one's
 * is not: what it means is not known here (DESIGN 3.14).
 */
async function requireKnown(record: LogRecord, schemaId: number, codec: Codec): Promise<void> {
  const kind = record.headers['lr_kind'] ?? '';
  if ((await codec.isNewer?.(kind, schemaId)) !== true) return;
  const { topic, partition, offset } = record;
  const what = `${topic}/${partition}, offset ${offset}: a ${kind} with schema id ${schemaId}`;
  const message = `${what}, later than this release knows: a newer release is about, this host stands by`;
  throw new LongreinError(newerCode, message, {
    fix: 'nothing for the partition: hosts of the newer release work on it; upgrade this host, or stop it',
  });
}

const waitMsMax = 5_000;

/**
 * The same; waits for what is away, since the order of the log allows nothing else (DESIGN 3.14). Throws SCHEMA_NEWER
 * only.
 */
export async function readBodyPatiently(
  record: LogRecord,
  ports: Pick<HostPorts, 'codec' | 'blobs' | 'logger' | 'clock'>,
): Promise<RecordBody | undefined> {
  for (let tries = 0; ; tries++) {
    try {
      return await readBody(record, ports);
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
