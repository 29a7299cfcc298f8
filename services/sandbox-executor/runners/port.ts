/**
 * The port of a sandbox: code that nobody vouches for goes in, one JSON value or one reason comes
 * out. A runner keeps the limits, never rejects, and never makes up a good end: what it did not see
 * is `unknown`.
 */
import type { JsonValue } from '../../../schemas/json.ts';

/**
 * `outputBytes` bounds the value (as JSON) and what is printed, each; a runner may print less,
 * never more. Printing beyond the bound stops the code.
 */
export type SandboxLimits = Readonly<{ timeMs: number; memoryBytes: number; outputBytes: number }>;

export type SandboxRequest = Readonly<{
  code: string;
  input: JsonValue;
  limits: SandboxLimits;
  signal: AbortSignal;
}>;

/**
 * `threw`, `syntax`, `not-json`: the code ended by itself. `time`, `memory`, `stack`, `output`,
 * `aborted`: it was stopped. `lost`: the sandbox broke. `line` counts from 1 in the code as it was
 * sent.
 */
export type SandboxReason = Readonly<{
  code:
    | 'threw'
    | 'syntax'
    | 'not-json'
    | 'time'
    | 'memory'
    | 'stack'
    | 'output'
    | 'aborted'
    | 'lost';
  message: string;
  line?: number;
}>;

/** `exited` without `reason` has a `value`; every other end has a `reason` and no value. */
export type SandboxRun = Readonly<{
  exit: 'exited' | 'killed' | 'unknown';
  reason?: SandboxReason;
  value?: JsonValue;
  stdout: string;
  stdoutTruncated: boolean;
  /** `memoryBytes` is what the code held when it ended, where that could be read. */
  usage: Readonly<{ durationMs: number; memoryBytes?: number }>;
}>;

export type SandboxRunner = Readonly<{
  /** What a receipt says about the isolation, such as `wasm-quickjs`. */
  isolation: string;
  run(request: SandboxRequest): Promise<SandboxRun>;
  close(): Promise<void>;
}>;
