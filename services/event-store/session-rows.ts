import type { JsonObject } from '../../schemas/json.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import type {
  CheckpointBody,
  EpochBody,
  InputBody,
  RecordBody,
  RecordHeader,
  TurnBody,
} from '../chassis/protocol/record.ts';
import type { EventRecord } from '../chassis/protocol/seal.ts';
import type { SessionMeta } from '../chassis/protocol/service-logic.ts';
import { bodyOf, type DecodedRecord, isObject } from './decoded-record.ts';
import { hotColumnsOf, labelsOf, noHotColumns, textOf, wholeOf } from './hot-columns.ts';
import { blankRow, UINT16, UINT32, unreadableRow } from './plain-rows.ts';
import type { EventRow } from './row.ts';

/** What the rules of the log say of one record. */
export type Judgement = Readonly<{
  /** So many of its events count, from the first on. */
  effectiveEvents: number;
  /** Who the session belongs to, for records that do not say so themselves. */
  session: SessionMeta | undefined;
}>;

type Writing = Readonly<{ record: DecodedRecord; header: RecordHeader; judgement: Judgement }>;

/** Rows of a record of a session log: one for each event of a turn, one for everything else. At least one. */
export function sessionRows(record: DecodedRecord, judgement: Judgement): readonly EventRow[] {
  const { header } = record;
  const body = bodyOf(record);
  if (header === undefined || body === undefined) return [unreadableRow(record)];
  const rows = rowsOf(body, { record, header, judgement });
  const [first, ...rest] = rows;
  if (first === undefined || rows.length > UINT16) return [unreadableRow(record)];
  return [{ ...first, record: wholeRecord(record) }, ...rest];
}

function rowsOf(body: RecordBody, writing: Writing): readonly EventRow[] {
  switch (body.kind) {
    case 'turn':
      return turnRows(body, writing);
    case 'input':
      return [inputRow(body, writing)];
    case 'checkpoint':
      return [checkpointRow(body, writing)];
    case 'epoch':
      return [epochRow(body, writing)];
  }
}

/** What the headers say, for every kind. */
function headRow({ record, header, judgement }: Writing): EventRow {
  return {
    ...blankRow(record),
    sessionId: header.session,
    recordId: header.id,
    kind: header.kind,
    effective: judgement.effectiveEvents > 0,
    service: header.service,
    epoch: wholeOf(header.epoch),
    incarnation: header.incarnation,
    sequence: wholeOf(header.sequence),
    base: header.base,
    foreseen: header.foreseen,
  };
}

function ownerOf(
  body: TurnBody | InputBody,
): Pick<EventRow, 'tenantId' | 'sessionId' | 'principal' | 'labels'> {
  const { tenant, session, principal, labels } = body;
  return {
    tenantId: textOf(tenant),
    sessionId: textOf(session),
    principal: textOf(principal),
    labels: labelsOf(labels),
  };
}

type EventColumns = Pick<EventRow, 'type' | 'schemaVersion' | 'data' | 'content'>;

function eventColumns(event: EventRecord): EventColumns & ReturnType<typeof hotColumnsOf> {
  const data: JsonObject = isObject(event.data) ? event.data : {};
  const type = textOf(event.type);
  return {
    type,
    schemaVersion: wholeOf(event.version, UINT16),
    ...hotColumnsOf(type, data),
    data: canonical(data),
    content: canonical(event.content ?? {}),
  };
}

function turnRows(body: TurnBody, writing: Writing): readonly EventRow[] {
  const causes = Array.isArray(body.causes) ? body.causes : [];
  const head: EventRow = {
    ...headRow(writing),
    ...ownerOf(body),
    causes: causes.map((cause) => `${cause?.record}#${cause?.index}`),
    behaviour: wholeOf(body.behaviour, UINT32),
    release: textOf(body.release),
  };
  return body.events.map((event, index) => ({
    ...head,
    index,
    effective: index < writing.judgement.effectiveEvents,
    ...eventColumns(event),
  }));
}

function inputRow(body: InputBody, writing: Writing): EventRow {
  return {
    ...headRow(writing),
    ...ownerOf(body),
    incarnation: textOf(body.incarnation),
    ...eventColumns(body.event),
  };
}

function checkpointRow(body: CheckpointBody, writing: Writing): EventRow {
  const { cursor, fold, machines, stateHash, state } = body;
  const { session } = writing.judgement;
  return {
    ...headRow(writing),
    tenantId: session?.tenant ?? '',
    principal: session?.principal ?? '',
    labels: session?.labels ?? {},
    base: textOf(cursor?.record),
    release: textOf(body.release),
    type: 'checkpoint',
    schemaVersion: 1,
    ...noHotColumns,
    data: canonical({ cursor, fold, machines, stateHash }),
    content: canonical({ state }),
  };
}

function epochRow(body: EpochBody, writing: Writing): EventRow {
  const { services, number, host } = body;
  return {
    ...headRow(writing),
    service: writing.header.services.join(','),
    release: textOf(body.release),
    type: 'epoch',
    schemaVersion: 1,
    ...noHotColumns,
    data: canonical({ services, number, host }),
  };
}

/** The record as replay reads it back. */
const wholeRecord = ({ log, value }: DecodedRecord): string =>
  canonical({ headers: log.headers, body: value });
