import type { Tracer } from '../host/ports.ts';
import type { Figures } from './figures.ts';
import { metricProducer } from './otlp-metrics.ts';
import { createOtelTracer, derivedTracer } from './tracer.ts';

export type Telemetry = Readonly<{ tracer: Tracer; stop(): Promise<void> }>;

export type TelemetryParts = Readonly<{
  /** Base URL of an OTLP receiver over HTTP (OTEL_EXPORTER_OTLP_ENDPOINT). */
  endpoint: string | undefined;
  host: string;
  release: string;
  figures: Figures | undefined;
  /** Metrics go out so often, in milliseconds. */
  metricExportMs: number;
}>;

/**
 * Traces and metrics to an OTLP endpoint where one is configured; loaded only then. How often spans go out is
 * said by OpenTelemetry's own variables (OTEL_BSP_SCHEDULE_DELAY).
 */
export async function startTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { endpoint, host, release, figures } = parts;
  if (endpoint === undefined) return { tracer: derivedTracer, stop: async () => undefined };
  const [otel, { OTLPTraceExporter }, { OTLPMetricExporter }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
  ]);
  const base = endpoint.replace(/\/$/, '');
  const producers = figures === undefined ? [] : [metricProducer(figures.meter, otel)];
  const reader = new otel.metrics.PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${base}/v1/metrics` }),
    metricProducers: producers,
    exportIntervalMillis: parts.metricExportMs,
    exportTimeoutMillis: Math.min(30_000, parts.metricExportMs),
  });
  const attributes = { 'service.name': host, 'service.version': release };
  const sdk = new otel.NodeSDK({
    resource: otel.resources.resourceFromAttributes(attributes),
    traceExporter: new OTLPTraceExporter({ url: `${base}/v1/traces` }),
    metricReaders: [reader],
    instrumentations: [],
  });
  sdk.start();
  return { tracer: createOtelTracer(), stop: () => sdk.shutdown() };
}
