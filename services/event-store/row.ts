/**
 * What a row is about. `public` stands for records of public topics, `foreign` for what nobody here
 * wrote.
 */
export type EventRowKind = 'turn' | 'input' | 'checkpoint' | 'epoch' | 'public' | 'foreign';

/**
 * One event as `longrein.events` keeps it; a record without events is one row with index 0. All
 * numbers are whole and not negative, text that says nothing is empty. Which columns they go to
 * stands in `columns.ts`.
 */
export type EventRow = Readonly<{
  tenantId: string;
  sessionId: string;
  topic: string;
  partition: number;
  offset: number;
  index: number;

  recordId: string;
  kind: EventRowKind;
  /** The record counts, by the acceptance rules of the log. */
  effective: boolean;
  service: string;
  epoch: number;
  incarnation: string;
  sequence: number;
  base: string;
  foreseen: readonly string[];
  /** Each `recordId#index`. */
  causes: readonly string[];
  behaviour: number;
  release: string;

  type: string;
  schemaVersion: number;
  /** Milliseconds since 1970. */
  atMs: number;
  principal: string;
  labels: Readonly<Record<string, string>>;
  agentId: string;
  agentType: string;
  taskId: string;
  callId: string;
  pool: string;
  provider: string;
  model: string;
  tool: string;
  status: string;
  errorCode: string;
  errorClass: string;
  finishReason: string;
  /** Which try of the call or the task it is, from 1; 0 where there is none. */
  attempt: number;
  /** Which try of its task a call belongs to. */
  taskAttempt: number;
  /** Of the agent, from 1. */
  step: number;
  toolVersion: string;
  isolation: string;
  sandboxId: string;
  /** When the call was asked for, in milliseconds since 1970; 0 where it is not known. */
  requestedAtMs: number;

  tokensIn: number;
  tokensOut: number;
  tokensCacheRead: number;
  tokensCacheWrite: number;
  tokensReasoning: number;
  costNanoUsd: number;
  priceVersion: string;
  durationUs: number;

  traceId: string;
  spanId: string;
  /** Canonical JSON of the event's data. */
  data: string;
  /** Canonical JSON: name to `{digest, mediaType, bytes, body | blob}`. */
  content: string;
  /**
   * JSON of the whole record, `{body, headers}`, the body as it was written; only where the index
   * is 0.
   */
  record: string;
}>;

/** A row in the making. */
export type RowDraft = { -readonly [K in keyof EventRow]: EventRow[K] };

/** Where a row comes from, for messages. */
export function addressOf(row: EventRow): string {
  return `${row.topic}/${row.partition}@${row.offset}#${row.index}`;
}
