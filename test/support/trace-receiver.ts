import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReceivedSpan = Readonly<{
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** `service.name` of the process. */
  process: string;
  attributes: Readonly<Record<string, string>>;
}>;

type Attribute = Readonly<{ key: string; value: Readonly<{ stringValue?: string }> }>;
type Exported = Readonly<{
  resourceSpans: readonly Readonly<{
    resource: Readonly<{ attributes: readonly Attribute[] }>;
    scopeSpans: readonly Readonly<{
      spans: readonly (Omit<ReceivedSpan, 'attributes' | 'parentSpanId'> &
        Readonly<{ parentSpanId?: string; attributes: readonly Attribute[] }>)[];
    }>[];
  }>[];
}>;

const textsOf = (attributes: readonly Attribute[]): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? '']));

function spansOf({ resourceSpans }: Exported): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const process = textsOf(resource.attributes)['service.name'] ?? '';
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        parentSpanId: span.parentSpanId ?? '',
        process,
        attributes: textsOf(span.attributes),
      })),
    );
  });
}

type ExportedMetrics = Readonly<{
  resourceMetrics: readonly Readonly<{
    scopeMetrics: readonly Readonly<{ metrics: readonly Readonly<{ name: string }>[] }>[];
  }>[];
}>;

const metricNamesOf = ({ resourceMetrics }: ExportedMetrics): readonly string[] =>
  resourceMetrics
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    .map(({ name }) => name);

/** Takes spans and metrics in OTLP over HTTP, as a collector does. */
export class TraceReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Names of the metrics that came, each once. */
  readonly metrics = new Set<string>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        text += chunk;
      });
      request.on('end', () => {
        if (request.url === '/v1/traces') this.spans.push(...spansOf(JSON.parse(text) as Exported));
        if (request.url === '/v1/metrics')
          for (const name of metricNamesOf(JSON.parse(text) as ExportedMetrics))
            this.metrics.add(name);
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
  }

  static async start(): Promise<TraceReceiver> {
    const receiver = new TraceReceiver();
    await new Promise<void>((resolve) => {
      receiver.server.listen(0, '127.0.0.1', () => resolve());
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  of(traceId: string): readonly ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }
}
