import type { JsonObject } from '../../schemas/json.ts';
import type { EventRecord } from '../chassis/protocol/event-record.ts';
import type {
  CheckpointBody,
  EpochBody,
  InputBody,
  RecordBody,
  RecordHeader,
  TurnBody,
} from '../chassis/protocol/record.ts';
import { canonicalText } from './canonical-text.ts';
import { labelsOf, textOf, wholeOf } from './column-values.ts';
import { bodyOf, type DecodedRecord, isObject } from './decoded-record.ts';
import { fillContext, fillHotColumns } from './hot-columns.ts';
import type { Judgement } from './judged-record.ts';
import { blankRow, UINT16, UINT32, unreadableRow } from './plain-rows.ts';
import type { EventRow, RowDraft } from './row.ts';
import type { EventContext } from './session-context.ts';

type Writing = Readonly<{ record: DecodedRecord; header: RecordHeader; judgement: Judgement }>;

/**
 * Rows of a record of a session log: one for each event of a turn, one for everything else. At
 * least one.
 */
export function sessionRows(record: DecodedRecord, judgement: Judgement): readonly EventRow[] {
  const { header } = record;
  const body = bodyOf(record);
  if (header === undefined || body === undefined) return [unreadableRow(record)];
  const rows = rowsOf(body, { record, header, judgement });
  const [first] = rows;
  if (first === undefined || rows.length > UINT16) return [unreadableRow(record)];
  first.record = wholeRecord(record);
  return rows;
}

function rowsOf(body: RecordBody, writing: Writing): readonly RowDraft[] {
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

// Rows are filled in place: they are made by the ten thousand, and copies would cost more than all
// the rest.

/** What the headers say, for every kind. */
function headRow({ record, header, judgement }: Writing): RowDraft {
  const row = blankRow(record);
  row.sessionId = header.session;
  row.recordId = header.id;
  row.kind = header.kind;
  row.effective = judgement.effectiveEvents > 0;
  row.service = header.service;
  row.epoch = wholeOf(header.epoch);
  row.incarnation = header.incarnation;
  row.sequence = wholeOf(header.sequence);
  row.base = header.base;
  row.foreseen = header.foreseen;
  row.schemaVersion = 1;
  return row;
}

function fillOwner(row: RowDraft, body: TurnBody | InputBody): void {
  row.tenantId = textOf(body.tenant);
  row.sessionId = textOf(body.session);
  row.principal = textOf(body.principal);
  row.labels = labelsOf(body.labels);
}

function fillEvent(row: RowDraft, event: EventRecord, context: EventContext | undefined): void {
  const data: JsonObject = isObject(event.data) ? event.data : {};
  row.type = textOf(event.type);
  row.schemaVersion = wholeOf(event.version, UINT16);
  fillHotColumns(row, row.type, data);
  row.data = canonicalText(data);
  row.content = event.content === undefined ? '{}' : canonicalText(event.content);
  fillContext(row, context);
}

function turnRows(body: TurnBody, writing: Writing): readonly RowDraft[] {
  const { effectiveEvents, contexts } = writing.judgement;
  const causes = Array.isArray(body.causes) ? body.causes : [];
  const head = headRow(writing);
  fillOwner(head, body);
  head.causes = causes.map((cause) => `${cause?.record}#${cause?.index}`);
  head.behaviour = wholeOf(body.behaviour, UINT32);
  head.release = textOf(body.release);
  return body.events.map((event, index) => {
    const row = { ...head };
    row.index = index;
    row.effective = index < effectiveEvents;
    fillEvent(row, event, contexts?.[index]);
    return row;
  });
}

function inputRow(body: InputBody, writing: Writing): RowDraft {
  const row = headRow(writing);
  fillOwner(row, body);
  row.incarnation = textOf(body.incarnation);
  fillEvent(row, body.event, writing.judgement.contexts?.[0]);
  return row;
}

function checkpointRow(body: CheckpointBody, writing: Writing): RowDraft {
  const { cursor, fold, machines, stateHash, state } = body;
  const { session } = writing.judgement;
  const row = headRow(writing);
  row.tenantId = session?.tenant ?? '';
  row.principal = session?.principal ?? '';
  row.labels = session?.labels ?? {};
  row.base = textOf(cursor?.record);
  row.release = textOf(body.release);
  row.type = 'checkpoint';
  row.data = canonicalText({ cursor, fold, machines, stateHash });
  row.content = canonicalText({ state });
  return row;
}

function epochRow(body: EpochBody, writing: Writing): RowDraft {
  const { services, number, host } = body;
  const row = headRow(writing);
  row.service = writing.header.services.join(',');
  row.release = textOf(body.release);
  row.type = 'epoch';
  row.data = canonicalText({ services, number, host });
  return row;
}

/** The record as replay reads it back. */
const wholeRecord = ({ log, text }: DecodedRecord): string =>
  `{"body":${text},"headers":${canonicalText(log.headers)}}`;
