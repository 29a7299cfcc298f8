import { resultsTopic } from '../../../schemas/topics.ts';
import type { Clock, OpenSpan, Tracer } from '../../../services/chassis/host/ports.ts';
import type { OutgoingRecord, PartitionName } from '../../../services/chassis/log/port.ts';
import { own } from '../../../services/chassis/telemetry/gen-ai.ts';
import { derivedTracer } from '../../../services/chassis/telemetry/tracer.ts';

/** Something that a host did, at a moment of the world's own time. */
export type Deed = Readonly<{ host: string; atMs: number }>;

/** An effect between its start and its end; `toMs` is not known where it never ended, or its process died. */
export type EffectSeen = Deed & {
  readonly claim: string;
  readonly call: string;
  readonly session: string;
  /** What the host's own clock said at the start. */
  readonly hostMs: number;
  toMs: number | undefined;
};

export type ResultSent = Deed & Readonly<{ session: string; service: string }>;

/** For people: what befell a host, or what it was made to do. */
export type Happening = Deed & Readonly<{ what: string }>;

/** What cannot be read from the log: when hosts decided, when effects ran, who sent what, what went wrong. */
export class Witness {
  /** By id of the turn: whether it came to be written or not. */
  readonly decided = new Map<string, Deed>();
  readonly effects: EffectSeen[] = [];
  readonly results: ResultSent[] = [];
  readonly happenings: Happening[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  note(host: string, what: string): void {
    this.happenings.push({ host, atMs: this.#nowMs(), what });
  }

  sent(host: string, { topic }: PartitionName, records: readonly OutgoingRecord[]): void {
    if (topic !== resultsTopic) return;
    for (const { headers } of records) {
      const service = (headers['ce_source'] ?? '').replace('/services/', '');
      const session = headers['ce_subject'] ?? '';
      this.results.push({ host, atMs: this.#nowMs(), session, service });
    }
  }

  /** The tracer of a host: it is told when a decision is made and when an effect begins and ends. */
  tracerOf(host: string, clock: Clock): Tracer {
    return {
      step: (name, at) => {
        this.decided.set(at.seed, { host, atMs: this.#nowMs() });
        return derivedTracer.step(name, at);
      },
      begin: (name, at) => {
        const span = derivedTracer.begin(name, at);
        const { [own.call]: call, [own.session]: about } = at.attributes();
        if (call === undefined) return span;
        const session = String(about);
        const hostMs = clock.nowMs();
        return this.#watched(span, { host, hostMs, claim: at.seed, call: String(call), session });
      },
    };
  }

  #watched(
    span: OpenSpan,
    at: Readonly<{ host: string; hostMs: number; claim: string; call: string; session: string }>,
  ): OpenSpan {
    const effect: EffectSeen = { ...at, atMs: this.#nowMs(), toMs: undefined };
    this.effects.push(effect);
    const end: OpenSpan['end'] = (how) => {
      effect.toMs = this.#nowMs();
      span.end(how);
    };
    return { traceparent: span.traceparent, end };
  }
}
