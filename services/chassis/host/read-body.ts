import { fillContents, hasBlobs } from '../content/spill.ts';
import { LongreinError, toError } from '../errors.ts';
import type { LogRecord } from '../log/port.ts';
import type { RecordBody } from '../protocol/record.ts';
import type { HostPorts } from './ports.ts';

/**
 * The body of a record with its blobs. Bytes that cannot be read are nobody's: undefined, for every reader alike. What
 * may be readable later (a blob store that is away) throws a retryable LongreinError.
 */
export async function readBody(
  record: LogRecord,
  ports: Pick<HostPorts, 'codec' | 'blobs' | 'logger'>,
): Promise<RecordBody | undefined> {
  const { topic, partition, offset, value } = record;
  try {
    if (value === null) throw new LongreinError('RECORD_EMPTY', 'the record has no value');
    const body = ports.codec.decode(value).body as RecordBody;
    return hasBlobs(body) ? await fillContents(body, ports.blobs) : body;
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof LongreinError && error.retryable) throw error;
    const fields = { topic, partition, offset, error: error.message };
    ports.logger.error(fields, 'record cannot be read; every reader ignores it');
    return undefined;
  }
}
