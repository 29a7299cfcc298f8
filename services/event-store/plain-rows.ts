import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import {
  approvalsTopic,
  deadLettersTopic,
  goalsTopic,
  resultsTopic,
} from '../../schemas/topics.ts';
import { saltOf, sealContent } from '../chassis/protocol/seal.ts';
import { canonicalText } from './canonical-text.ts';
import { labelsOf, textOf } from './column-values.ts';
import { type DecodedRecord, isObject } from './decoded-record.ts';
import type { EventRow, RowDraft } from './row.ts';

/**
 * Rows of records that are not of a session log: public topics, other programs, and what nobody can
 * read.
 */

export const UINT16 = 2 ** 16 - 1;
export const UINT32 = 2 ** 32 - 1;
/** The last moment that the table can hold. */
const atMsMax = Date.UTC(2200, 0) - 1;

const typeOfTopic: Readonly<Record<string, string>> = {
  [goalsTopic]: 'goal',
  [resultsTopic]: 'result',
  [approvalsTopic]: 'approval-decision',
  [deadLettersTopic]: 'dead-letter',
};

/** The time in the headers, else the log's. */
function atMsOf({ log }: DecodedRecord): number {
  const written = Date.parse(log.headers.ce_time ?? '');
  const atMs = Number.isNaN(written) ? log.timestampMs : written;
  return Number.isFinite(atMs) ? Math.trunc(Math.min(Math.max(0, atMs), atMsMax)) : 0;
}

/** W3C: version, trace, span, flags. */
function traceOf(traceparent: string | undefined): Pick<EventRow, 'traceId' | 'spanId'> {
  const parts = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(traceparent ?? '');
  return { traceId: parts?.[1] ?? '', spanId: parts?.[2] ?? '' };
}

/** What an event may say of who asked for what. */
const blankAsked = {
  agentId: '',
  agentType: '',
  taskId: '',
  callId: '',
  pool: '',
  provider: '',
  model: '',
  tool: '',
  status: '',
  errorCode: '',
  errorClass: '',
  finishReason: '',
  attempt: 0,
  taskAttempt: 0,
  step: 0,
  toolVersion: '',
  isolation: '',
  sandboxId: '',
  requestedAtMs: 0,
} as const;

/** A row with what every record has; nothing in it counts. */
export function blankRow(record: DecodedRecord): RowDraft {
  const { topic, partition, offset, headers } = record.log;
  const { traceId, spanId } = traceOf(headers.traceparent);
  return {
    tenantId: '',
    sessionId: '',
    topic,
    partition,
    offset,
    index: 0,
    recordId: headers.ce_id ?? '',
    kind: 'foreign',
    effective: false,
    service: '',
    epoch: 0,
    incarnation: '',
    sequence: 0,
    base: '',
    foreseen: [],
    causes: [],
    behaviour: 0,
    release: '',
    type: headers.ce_type ?? '',
    schemaVersion: 0,
    atMs: atMsOf(record),
    principal: '',
    labels: {},
    ...blankAsked,
    tokensIn: 0,
    tokensOut: 0,
    tokensCacheRead: 0,
    tokensCacheWrite: 0,
    tokensReasoning: 0,
    costNanoUsd: 0,
    priceVersion: '',
    durationUs: 0,
    traceId,
    spanId,
    data: '{}',
    content: '{}',
    record: '',
  };
}

/** The record with its key, as bytes where it is not JSON: nothing of it is lost. */
function wholeRecord({ log, text }: DecodedRecord): string {
  const key = JSON.stringify(log.key);
  const headers = canonicalText(log.headers);
  if (text !== undefined) return `{"body":${text},"headers":${headers},"key":${key}}`;
  const bytes = log.value === null ? null : Buffer.from(log.value).toString('base64');
  return `{"bytes":${JSON.stringify(bytes)},"headers":${headers},"key":${key}}`;
}

/** A record that looks like ours and cannot be read: every reader ignores it. */
export const unreadableRow = (record: DecodedRecord): EventRow => ({
  ...blankRow(record),
  sessionId: record.header?.session ?? '',
  status: 'unreadable',
  record: wholeRecord(record),
});

/** A record of a program that is none of ours, in a session log. */
export const foreignRow = (record: DecodedRecord): EventRow => ({
  ...blankRow(record),
  status: record.value === undefined ? 'unreadable' : '',
  record: wholeRecord(record),
});

/** A record of a public topic; what people wrote in it is content. */
export function publicRow(record: DecodedRecord): EventRow {
  const { log, value } = record;
  const { topic, headers } = log;
  const known = typeOfTopic[topic] ?? '';
  const row: EventRow = {
    ...blankRow(record),
    kind: 'public',
    effective: true,
    type: headers.ce_type ?? known,
    schemaVersion: 1,
    record: wholeRecord(record),
  };
  if (!isObject(value)) return { ...row, status: value === undefined ? 'unreadable' : '' };
  return { ...row, ...publicColumns(record, value) };
}

/** The same without what people wrote in it: a public topic stands open, and its tenants want their contents sealed. */
export function bareRow(record: DecodedRecord): EventRow {
  const { key, headers } = record.log;
  const whole = `{"headers":${canonicalText(headers)},"key":${JSON.stringify(key)}}`;
  return { ...publicRow(record), content: '{}', record: whole };
}

function publicColumns({ log }: DecodedRecord, value: JsonObject): Partial<EventRow> {
  const error = [value.error, value.reason].find(isObject);
  const session = textOf(value.session) || (log.headers.ce_subject ?? '');
  return {
    tenantId: textOf(value.tenant),
    sessionId: session,
    recordId: log.headers.ce_id ?? textOf(value.id),
    principal: textOf(value.principal),
    labels: labelsOf(value.labels),
    status: textOf(value.status),
    errorCode: textOf(error?.code),
    data: canonicalText(structureOf(value)),
    content: canonicalText({ body: sealedBody(session, value) }),
  };
}

const structureNames = [
  'id',
  'goalId',
  'session',
  'plan',
  'priority',
  'timeoutMs',
  'budgetNanoUsd',
  'valueNanoUsd',
  'agentPools',
  'riskMax',
  'status',
  'usage',
  'openedAt',
  'endedAt',
  'origin',
  'at',
] as const;

function structureOf(value: JsonObject): JsonObject {
  const known = structureNames.filter((name) => value[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, value[name] as JsonValue]));
}

const sealedBody = (session: string, value: JsonObject) =>
  sealContent(saltOf(session), { mediaType: 'application/json', body: value });
