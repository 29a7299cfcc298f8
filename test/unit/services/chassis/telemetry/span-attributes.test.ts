import { resources, metrics as sdkMetrics, tracing } from '@opentelemetry/sdk-node';
import { expect, test } from 'vitest';
import { Figures } from '../../../../../services/chassis/telemetry/figures.ts';
import { genAi, own } from '../../../../../services/chassis/telemetry/gen-ai.ts';
import { metrics } from '../../../../../services/chassis/telemetry/metrics.ts';
import { metricProducer } from '../../../../../services/chassis/telemetry/otlp-metrics.ts';
import { createOtelTracer } from '../../../../../services/chassis/telemetry/tracer.ts';
import { MemoryWorld } from '../../../../support/memory-world.ts';

/** A world whose spans are kept, as a tracing system would have them. */
async function tracedWorld() {
  const kept = new tracing.InMemorySpanExporter();
  const processor = new tracing.SimpleSpanProcessor(kept);
  const provider = new tracing.BasicTracerProvider({ spanProcessors: [processor] });
  const world = await MemoryWorld.start({
    tracer: createOtelTracer(provider.getTracer('test')),
    model: () => ({ text: 'A secret answer.' }),
  });
  return { world, spans: () => kept.getFinishedSpans() };
}

test('spans of calls and agents carry names, hashes, tokens and cost, and nothing that was written', async () => {
  const { world, spans } = await tracedWorld();
  world.publishGoal({ id: 'a', goal: 'A secret goal.', plan: 'ask' });
  world.publishGoal({ id: 'e', goal: 'Echo.', plan: 'echo', inputs: { said: 'a secret word' } });
  expect(await world.runUntilDone()).toBe(true);
  const named = (name: RegExp) => spans().find((span) => name.test(span.name));

  const tool = named(/^execute_tool test\.echo$/);
  expect(tool?.attributes).toMatchObject({
    [genAi.operation]: 'execute_tool',
    [genAi.toolName]: 'test.echo',
    [genAi.agentName]: 'echoer',
    [own.attempt]: 1,
    [own.inputHash]: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    [own.outputHash]: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
  });
  expect(tool?.attributes[genAi.toolCallId]).toBe(tool?.attributes[own.call]);
  const chat = named(/^chat /);
  expect(chat?.attributes).toMatchObject({
    [genAi.operation]: 'chat',
    [genAi.agentName]: 'asker',
    [genAi.inputTokens]: expect.any(Number) as number,
    [genAi.outputTokens]: expect.any(Number) as number,
    [genAi.costCurrency]: 'USD',
    [own.costNanoUsd]: expect.any(Number) as number,
    [own.outputHash]: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
  });
  const agent = named(/^invoke_agent asker$/);
  expect(agent?.attributes).toMatchObject({
    [genAi.operation]: 'invoke_agent',
    [genAi.conversation]: chat?.attributes[genAi.conversation],
    [genAi.outputTokens]: chat?.attributes[genAi.outputTokens],
  });
  expect(JSON.stringify(spans().map(({ name, attributes }) => [name, attributes]))).not.toContain(
    'secret',
  );
  await world.stop();
});

test('the metrics go out as OpenTelemetry takes them: sums, gauges and histograms since the start', async () => {
  const figures = new Figures();
  const otel = { metrics: sdkMetrics, resources } as never;
  figures.saw({ session: 's', service: 'x', own: true, events: [{ type: 'x' }] as never });
  figures.rehydrated(300);
  const { resourceMetrics } = await metricProducer(figures.meter, otel).collect();
  const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  const of = (name: string) => all.find(({ descriptor }) => descriptor.name === name);
  expect(of(metrics.events.name)).toMatchObject({
    descriptor: { unit: '{event}' },
    dataPointType: sdkMetrics.DataPointType.SUM,
    isMonotonic: true,
    dataPoints: [{ attributes: { 'longrein.service': 'x' }, value: 1 }],
  });
  expect(of(metrics.rehydration.name)).toMatchObject({
    dataPointType: sdkMetrics.DataPointType.HISTOGRAM,
    dataPoints: [{ value: { count: 1, sum: 0.3 } }],
  });
  expect(of(metrics.memory.name)).toMatchObject({ dataPointType: sdkMetrics.DataPointType.GAUGE });
});
