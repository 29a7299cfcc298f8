import {
  type Attributes,
  type Context,
  type Tracer as OtelTracer,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { OpenSpan, StepPlace, Tracer } from '../host/ports.ts';
import { sha256 } from '../protocol/hash.ts';

/**
 * Trace context is part of every record, whether a tracing system listens or not: without one, ids follow from the
 * record, so that rows of one goal still share a trace.
 */
const traceOf = (traceparent: string): string | undefined =>
  /^00-([0-9a-f]{32})-/.exec(traceparent)?.[1];

function derived(parent: string, seed: string): string {
  const hash = sha256(`trace ${seed}`);
  return `00-${traceOf(parent) ?? hash.slice(0, 32)}-${hash.slice(32, 48)}-01`;
}

export const derivedTracer: Tracer = {
  step: (_name, at) => derived(at.parent, at.seed),
  begin: (_name, at) => ({ traceparent: derived(at.parent, at.seed), end: () => undefined }),
};

const parentContext = (traceparent: string): Context =>
  traceparent === '' ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });

function traceparentOf(active: Context): string {
  const carrier: Record<string, string> = {};
  propagation.inject(active, carrier);
  return carrier['traceparent'] ?? '';
}

function open(tracer: OtelTracer, name: string, at: Omit<StepPlace, 'seed'>, startTime?: number) {
  const parent = parentContext(at.parent);
  const attributes = at.attributes() as Attributes;
  const when = startTime === undefined ? {} : { startTime };
  const span = tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes, ...when }, parent);
  return { span, traceparent: traceparentOf(trace.setSpan(parent, span)) };
}

function end(span: Span, how: Parameters<OpenSpan['end']>[0], endTime?: number): void {
  const { error, attributes } = how ?? {};
  if (attributes !== undefined) span.setAttributes(attributes() as Attributes);
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end(endTime);
}

/** Spans of a tracing system, with the record's context as parent. */
export function createOtelTracer(tracer: OtelTracer = trace.getTracer('longrein')): Tracer {
  return {
    step(name, at) {
      const { span, traceparent } = open(tracer, name, at);
      span.end();
      return traceparent === '' ? derived(at.parent, at.seed) : traceparent;
    },
    begin(name, at) {
      const { span, traceparent } = open(tracer, name, at);
      const context = traceparent === '' ? derived(at.parent, at.seed) : traceparent;
      return { traceparent: context, end: (how) => end(span, how) };
    },
    past(name, at) {
      const { span } = open(tracer, name, at, at.startMs);
      end(span, at.error === undefined ? {} : { error: at.error }, at.endMs);
    },
  };
}
