import type { Tracer } from '../host/ports.ts';
import { createOtelTracer, derivedTracer } from './tracer.ts';

export type Tracing = Readonly<{ tracer: Tracer; stop(): Promise<void> }>;

/** Tracing to an OTLP endpoint where one is configured (OTEL_EXPORTER_OTLP_ENDPOINT); loaded only then. */
export async function startTracing(
  endpoint: string | undefined,
  serviceName: string,
): Promise<Tracing> {
  if (endpoint === undefined) return { tracer: derivedTracer, stop: async () => undefined };
  const [{ NodeSDK }, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const sdk = new NodeSDK({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    traceExporter: new OTLPTraceExporter({ url }),
    instrumentations: [],
  });
  sdk.start();
  return { tracer: createOtelTracer(), stop: () => sdk.shutdown() };
}
