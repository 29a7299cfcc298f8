import type { JsonValue } from '../../schemas/json.ts';
import type { CallToRun } from '../../services/chassis/effects/tool-claims.ts';
import { createToolEffects } from '../../services/chassis/effects/tool-effects.ts';
import type {
  ToolCall,
  ToolFailure,
  ToolOutcome,
  ToolRunner,
} from '../../services/chassis/effects/tool-port.ts';
import type { Clock, Effects, Logger } from '../../services/chassis/host/ports.ts';

/** Tools of a simulated world: what they answer and when, in the world's own time. */

/** `never`: it does not answer; only its cancel or its deadline ends it. */
export type FakeAnswer = Readonly<{ afterMs?: number }> &
  (
    | Readonly<{ result: JsonValue; exit?: string }>
    | Readonly<{ failure: Partial<ToolFailure> }>
    | Readonly<{ unknown: string }>
    | Readonly<{ never: true }>
  );

/** `count` says how often this tool was started in this world, from 1. */
export type FakeTool = (call: ToolCall, count: number) => FakeAnswer;

/** An effect that was really started. */
export type StartedEffect = Readonly<{
  service: string;
  call: string;
  name: string;
  atMs: number;
}>;

const failed = (changes: Partial<ToolFailure>): ToolOutcome => {
  const error: ToolFailure = {
    code: 'TOOL_BROKE',
    class: 'tool-error',
    message: 'It broke.',
    retryable: true,
    ...changes,
  };
  return { kind: 'failed', error };
};

function outcomeOf(answer: Exclude<FakeAnswer, { never: true }>, isolation: string): ToolOutcome {
  if ('failure' in answer) return failed(answer.failure);
  if ('unknown' in answer) {
    const error = { code: 'TOOL_LOST', class: 'crashed', retryable: false } as const;
    return { kind: 'unknown', error: { ...error, message: answer.unknown } };
  }
  const notes = isolation === '' ? {} : { isolation, exit: answer.exit ?? 'exited' };
  return { kind: 'completed', result: answer.result, notes };
}

const stopped = (reason: unknown): ToolOutcome =>
  reason === 'deadline'
    ? failed({ code: 'TOOL_DEADLINE', class: 'timeout', message: 'It took too long.' })
    : failed({
        code: 'TOOL_CANCELLED',
        class: 'cancelled',
        retryable: false,
        message: 'Cancelled.',
      });

/** A wait in the world's time that its signal ends early. Resolves to whether it was ended early. */
export function waitIn(clock: Clock, delayMs: number | undefined, signal: AbortSignal) {
  return new Promise<boolean>((resolve) => {
    const cancel = delayMs === undefined ? undefined : clock.after(delayMs, () => resolve(false));
    const stop = (): void => {
      cancel?.();
      resolve(true);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

export type FakeRunnerParts = Readonly<{
  clock: Clock;
  tools: Readonly<Record<string, FakeTool>>;
  isolation: string;
  onStart(call: ToolCall): void;
  /** How often the tool was started, this start included. */
  countOf(tool: string): number;
}>;

/** A runner over functions. A tool that it does not know fails as not found. */
export function createFakeRunner(parts: FakeRunnerParts): ToolRunner {
  const run = async (call: ToolCall): Promise<ToolOutcome> => {
    const tool = parts.tools[call.tool];
    parts.onStart(call);
    // Servers of a simulated world are well where it does not say otherwise.
    if (tool === undefined && call.checked !== undefined)
      return outcomeOf({ result: { asked: true } }, parts.isolation);
    if (tool === undefined) {
      const message = `The simulated world has no tool ${call.tool}.`;
      return failed({ code: 'TOOL_UNKNOWN', class: 'not-found', retryable: false, message });
    }
    const answer = tool(call, parts.countOf(call.tool));
    const delayMs = 'never' in answer ? undefined : (answer.afterMs ?? 1);
    if (await waitIn(parts.clock, delayMs, call.signal)) return stopped(call.signal.reason);
    return 'never' in answer ? stopped('deadline') : outcomeOf(answer, parts.isolation);
  };
  return { run, close: async () => undefined };
}

/** The effects of a service that runs tools, over such a runner. */
export function fakeToolEffects<S>(
  service: {
    callOf(state: S, call: string): CallToRun | undefined;
    mayRun(state: S, call: string): boolean;
  },
  parts: { clock: Clock; logger: Logger; runner: ToolRunner },
): Effects<unknown> {
  const { clock, logger, runner } = parts;
  const { callOf, mayRun } = service;
  const effects = createToolEffects<S>({ clock, logger, callOf, mayRun, runnerFor: () => runner });
  return effects as Effects<unknown>;
}
