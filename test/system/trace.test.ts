import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { metrics } from '../../services/chassis/telemetry/metrics.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';
import { type ReceivedSpan, TraceReceiver } from '../support/trace-receiver.ts';

const stack = stackUnderTest();
const hosts: LiveHost[] = [];
let receiver: TraceReceiver;
let desk: GoalDesk;
let sessions: SessionLogs;

/** In two processes, so that the trace has to cross from one to the other through the log. */
const shapes = [
  ['intake', 'supervisor', 'tool-guard', 'model-gateway', 'aggregator'],
  ['planner', 'worker-pool', 'tool-runner', 'sandbox-executor'],
];

beforeAll(async () => {
  receiver = await TraceReceiver.start();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  };
  for (const services of shapes) hosts.push(new LiveHost({ stack, services, env }));
  await Promise.all(hosts.map((host) => host.ready()));
  desk = await GoalDesk.open(stack);
  sessions = await SessionLogs.open(stack);
});
afterAll(async () => {
  await Promise.all([desk.close(), sessions.close()]);
  await Promise.all(hosts.map((host) => host.remove()));
  await receiver.stop();
});

const traceId = randomBytes(16).toString('hex');
const root = randomBytes(8).toString('hex');

/** The spans from this one up to the first whose parent was not received. */
function pathUp(span: ReceivedSpan | undefined, all: readonly ReceivedSpan[]): ReceivedSpan[] {
  if (span === undefined) return [];
  const parent = all.find(({ spanId }) => spanId === span.parentSpanId);
  return [span, ...pathUp(parent, all)];
}

it('a goal is one trace, from its publisher through every service to the MCP call', async () => {
  const id = `goal-${randomUUID()}`;
  const headers = { traceparent: `00-${traceId}-${root}-01` };
  await desk.send({ id, goal: 'of a test', plan: 'traced' }, { headers });
  const result = await desk.result(id);
  expect(result.status).toBe('completed');
  const { events, records } = await sessions.closed(result.session);
  const decided = events.filter(({ service }) => service !== 'input').length;
  await expect
    .poll(() => receiver.of(traceId).length, { timeout: 10_000 })
    .toBeGreaterThanOrEqual(Math.floor(decided / 2));
  for (const host of hosts) await host.stop();
  // Also what a last export says, at the end of a process.
  for (const { name } of [metrics.sessionsEnded, metrics.toolDuration, metrics.ready])
    expect(receiver.metrics).toContain(name);

  const spans = receiver.of(traceId);
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const orphans = spans.filter(
    ({ parentSpanId }) => parentSpanId !== root && !ids.has(parentSpanId),
  );
  expect(orphans).toEqual([]);
  expect(new Set(spans.map(({ process }) => process)).size).toBe(2);
  const names = new Set(spans.map(({ name }) => name));
  for (const service of ['intake', 'planner', 'supervisor', 'tool-guard', 'aggregator'])
    expect(names).toContain(`decide ${service}`);
  for (const service of ['tool-runner', 'sandbox-executor', 'model-gateway']) {
    expect(names).toContain(`decide ${service}`);
  }
  for (const name of [/^execute_tool trouble\.say$/, /^chat /, /^invoke_agent /])
    expect([...names].filter((one) => name.test(one))).not.toEqual([]);

  const said = (result.output as { say: { traceparent: string } }).say.traceparent;
  const [, saidTrace, saidSpan] = said.split('-');
  expect(saidTrace).toBe(traceId);
  const path = pathUp(
    spans.find(({ spanId }) => spanId === saidSpan),
    spans,
  );
  const steps = path.map(({ name }) => name).reverse();
  expect(steps).toEqual([
    'goal received',
    'decide intake',
    'decide planner',
    'decide supervisor',
    expect.stringMatching(/^decide worker-pool/),
    'decide tool-guard',
    'decide tool-runner',
    'execute_tool trouble.say',
  ]);
  expect(path.at(-1)?.parentSpanId).toBe(root);

  const traces = records
    .filter(({ headers: { lr_kind } }) => lr_kind === 'turn' || lr_kind === 'input')
    .map((record) => record.headers['traceparent']?.split('-')[1]);
  expect(new Set(traces)).toEqual(new Set([traceId]));
  const [published] = desk.resultRecords(id);
  expect(published?.headers['traceparent']?.split('-')[1]).toBe(traceId);
});
