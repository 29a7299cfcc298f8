import type { Draft, InputEventType, SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { BlobPort } from '../content/blobs.ts';
import type { ContentKeys } from '../content/content-keys.ts';
import type { Codec } from '../log/codec.ts';
import type { LogPort } from '../log/port.ts';
import type { Refused } from '../protocol/record.ts';
import type { AnyLogic, DecideInput, SessionMeta } from '../protocol/service-logic.ts';
import type { Figures } from '../telemetry/figures.ts';

/** What a host touches of the world. Each has a real and a simulated form. */
export type Clock = Readonly<{
  nowMs(): number;
  /** Runs once after the delay; the answer takes it back. */
  after(delayMs: number, run: () => void): () => void;
}>;

export type Random = Readonly<{
  /** 128 bits as hex text. */
  id(): string;
  /** In [0, 1). */
  fraction(): number;
}>;

export type Logger = Readonly<{
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}>;

/** Attributes of a span, made only where somebody listens. */
export type Attributes = () => JsonObject;

/** Where a step stands. `seed` makes ids where no tracing system gives them. */
export type StepPlace = Readonly<{ parent: string; seed: string; attributes: Attributes }>;

/** Trace context of a record. */
export type Tracer = Readonly<{
  /** Records a finished step and answers its context (W3C traceparent). */
  step(name: string, at: StepPlace): string;
  /** A step that takes time; `end` closes it. */
  begin(name: string, at: StepPlace): OpenSpan;
  /** Records what began and ended earlier, in milliseconds since 1970. Absent where no tracing system listens. */
  past?(
    name: string,
    at: Readonly<{
      parent: string;
      startMs: number;
      endMs: number;
      attributes: Attributes;
      error?: string;
    }>,
  ): void;
}>;

export type OpenSpan = Readonly<{
  traceparent: string;
  end(how?: Readonly<{ error?: string; attributes?: Attributes }>): void;
}>;

export type HostPorts = Readonly<{
  log: LogPort;
  clock: Clock;
  random: Random;
  blobs: BlobPort;
  codec: Codec;
  logger: Logger;
  tracer: Tracer;
  /** Seals and opens contents; absent where nothing is sealed and nothing was ever erased. */
  keys?: ContentKeys;
  /** Where the process counts; absent where nobody asks. */
  figures?: Figures;
}>;

/** An effect that is about to run: under one claim, once. */
export type EffectJob = Readonly<{
  call: string;
  deadlineAtMs: number;
  /**
   * Runs the effect and says how it ended, as the outcome input; undefined where nobody saw how it ended: the owner then
   * declares the claim lost. Must not throw.
   */
  run(control: {
    signal: AbortSignal;
    traceparent: string;
  }): Promise<Draft<InputEventType> | undefined>;
  /** The outcome of a claim that was never started: known not to have happened. */
  notStarted(reason: 'cancelled' | 'timeout'): Draft<InputEventType>;
  /**
   * A failure in place of an outcome that the broker will never take: it says that the effect happened, what it cost, and
   * why its outcome is not there. Absent where an outcome is always small: the claim is declared lost then.
   */
  unrecorded?(outcome: Draft<InputEventType>, why: Refused): Draft<InputEventType>;
}>;

/** How a service acts on the world: from a claim that was read back as effective. */
export type Effects<S> = Readonly<{
  jobOf(claim: SeenEvent, state: S, session: SessionMeta): EffectJob | undefined;
  /** Whether the state still allows the call: not cancelled, not ended. */
  mayRun(state: S, call: string): boolean;
}>;

/** What the decision will know besides what its service gathers. */
export type FactsMoment = Pick<DecideInput, 'nowMs' | 'lost' | 'openCalls'>;

/** A service as a host runs it: its logic, and what gathers its facts and runs its effects. */
export type HostedService = Readonly<{
  logic: AnyLogic;
  /** Topics whose sessions it works on. */
  topics: readonly string[];
  /** Session logs that it reads besides, and whose records must stay until its watermark has passed them. */
  alsoReads?: readonly string[];
  /** Topics where it writes the dead letters of records that nobody can read; one service of each topic does. */
  keepsLetters?: readonly string[];
  facts?(
    state: unknown,
    session: SessionMeta,
    at: FactsMoment,
  ): { facts: JsonObject; attachments?: Readonly<Record<string, JsonValue>> };
  effects?: Effects<unknown>;
  stop?(): Promise<void>;
}>;
