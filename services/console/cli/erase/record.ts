/** The record of an erasure, in the session's own log, behind its end. */
import { type DataOf, event } from '../../../../schemas/event.ts';
import { createCodec } from '../../../chassis/log/codec.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import { inputId } from '../../../chassis/protocol/ids.ts';
import { headersOf, type InputBody } from '../../../chassis/protocol/record.ts';
import { plainSaltOf, sealEvent } from '../../../chassis/protocol/seal.ts';
import type { FoundLog, FoundSession } from './survey.ts';

/** The log that the record goes to: the session's, or its goal's where it never had one. */
function logFor({ session, logs }: FoundSession): FoundLog | undefined {
  const own = logs.find(({ log }) => log === session) ?? logs[0];
  return own?.schemaId === undefined ? undefined : own;
}

export type RecordWritten = 'written' | 'there before' | 'its log is gone';

/** Writes it once. Its id follows from the session: should two write it, it is the same. Throws what the log throws. */
export async function writeErasure(
  log: LogPort,
  found: FoundSession,
  { atMs, ...data }: DataOf<'session.erased'> & Readonly<{ atMs: number }>,
): Promise<RecordWritten> {
  if (found.logs.some(({ erased }) => erased)) return 'there before';
  const own = logFor(found);
  if (own === undefined) return 'its log is gone';
  const session = own.log;
  const body: InputBody = {
    kind: 'input',
    ...{ session, source: 'outside', atMs, tenant: found.tenant },
    ...{ principal: data.by, labels: {} },
    event: sealEvent(plainSaltOf(session), event('session.erased', data)),
  };
  const id = inputId(session, ['erasure']);
  const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' });
  // In the form of the inputs that are there: that needs no registry.
  const codec = createCodec(new Map([['input', own.schemaId ?? 0]]));
  await log.append(own.at, [{ key: session, headers, value: codec.encode('input', body) }]);
  return 'written';
}
