import { createMemoryBlobs } from '../../services/chassis/content/blobs.ts';
import type {
  Clock,
  HostPorts,
  Logger,
  Random,
  Tracer,
} from '../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import type { LogPort } from '../../services/chassis/log/port.ts';

/** The generator of `mulberry32`: 32 bits of state, the same numbers for the same seed. */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function seededRandom(seed: number): Random {
  const next = seededNumbers(seed);
  const word = (): string =>
    Math.floor(next() * 4_294_967_296)
      .toString(16)
      .padStart(8, '0');
  return { id: () => word() + word() + word() + word(), fraction: next };
}

export type LogLine = Readonly<{ level: string; fields: object; message: string }>;

/** Keeps lines for assertions; prints nothing. */
export function keepingLogger(lines: LogLine[] = []): Logger & { lines: LogLine[] } {
  const keep = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  return {
    lines,
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  };
}

export const noTracer: Tracer = {
  step: (_name, at) => at.parent,
  begin: (_name, at) => ({ traceparent: at.parent, end: () => undefined }),
};

export function quietPorts(
  log: LogPort,
  clock: Clock,
  more: Partial<HostPorts> & { seed?: number } = {},
): HostPorts {
  const { seed, ...rest } = more;
  return {
    log,
    clock,
    random: seededRandom(seed ?? 1),
    blobs: createMemoryBlobs(),
    codec: createFixedCodec(),
    logger: keepingLogger(),
    tracer: noTracer,
    ...rest,
  };
}
