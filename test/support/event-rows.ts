import type { EventRow } from '../../services/event-store/row.ts';

/** An effective row of a session log, with nothing in it but what the test says. */
export function eventRow(values: Partial<EventRow> = {}): EventRow {
  return { ...emptyRow, ...values };
}

/** Rows of one session at consecutive offsets, model answers and others in turn. */
export function eventRows(count: number, values: Partial<EventRow> = {}): readonly EventRow[] {
  const from = values.offset ?? 0;
  return Array.from({ length: count }, (_, number) => {
    const answer = number % 3 === 0;
    return eventRow({
      ...values,
      offset: from + number,
      recordId: `record-${from + number}`,
      type: answer ? 'model.completed' : 'model.requested',
      costNanoUsd: answer ? 1000 + number : 0,
      tokensIn: answer ? 10 : 0,
      data: JSON.stringify({ number, text: 'x'.repeat(200) }),
    });
  });
}

const emptyRow: EventRow = {
  tenantId: 'tenant',
  sessionId: 'session',
  topic: 'longrein.sessions.normal',
  partition: 3,
  offset: 0,
  index: 0,
  recordId: 'record',
  kind: 'turn',
  effective: true,
  service: 'supervisor',
  epoch: 1,
  incarnation: 'incarnation',
  sequence: 0,
  base: '',
  foreseen: [],
  causes: [],
  behaviour: 1,
  release: '0.1.0',
  type: 'task.scheduled',
  schemaVersion: 1,
  atMs: Date.UTC(2026, 0, 15, 10, 30),
  principal: '',
  labels: {},
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
  tokensIn: 0,
  tokensOut: 0,
  tokensCacheRead: 0,
  tokensCacheWrite: 0,
  tokensReasoning: 0,
  costNanoUsd: 0,
  priceVersion: '',
  durationUs: 0,
  traceId: '',
  spanId: '',
  data: '{}',
  content: '{}',
  record: '',
};
