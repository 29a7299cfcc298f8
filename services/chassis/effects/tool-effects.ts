import {
  type Draft,
  event,
  type InputEventType,
  json,
  type SeenEvent,
  text,
} from '../../../schemas/event.ts';
import type { Clock, EffectJob, Effects, Logger } from '../host/ports.ts';
import type { Refused } from '../protocol/record.ts';
import { sentences } from '../words/sentences.ts';
import { ToolBreakers } from './tool-breakers.ts';
import type { CallToRun } from './tool-claims.ts';
import type { ToolFailure, ToolNotes, ToolOutcome, ToolRunner } from './tool-port.ts';

/** How a runner's outcome becomes the input that everyone reads. */

export type ToolEffectParts<S> = Readonly<{
  clock: Clock;
  logger: Logger;
  callOf(state: S, call: string): CallToRun | undefined;
  mayRun(state: S, call: string): boolean;
  runnerFor(call: CallToRun): ToolRunner;
}>;

type Claim = SeenEvent<'tool.claimed'>;

const noteText = (notes: ToolNotes | undefined, name: string): Record<string, string> => {
  const value = notes?.[name];
  return value === undefined ? {} : { [name]: String(value) };
};

function facts(claim: Claim, durationMs: number, notes: ToolNotes | undefined) {
  const { call, tool, attempt } = claim.data;
  const said = { ...noteText(notes, 'isolation'), ...noteText(notes, 'exit') };
  return {
    call,
    claim: '',
    attempt,
    tool,
    durationMs: Math.max(0, Math.round(durationMs)),
    ...said,
  };
}

function failed(
  claim: Claim,
  error: ToolFailure,
  at: { durationMs: number; notes?: ToolNotes | undefined },
): Draft<'tool.failed'> {
  const { code, retryable } = error;
  const message = sentences(error.message, error.fix);
  const data = { ...facts(claim, at.durationMs, at.notes), code, class: error.class, retryable };
  return event('tool.failed', data, { message: text(message) });
}

function outcomeDraft(
  claim: Claim,
  outcome: ToolOutcome,
  durationMs: number,
): Draft<'tool.completed'> | Draft<'tool.failed'> | undefined {
  if (outcome.kind === 'unknown') return undefined;
  const { notes } = outcome;
  if (outcome.kind === 'failed') return failed(claim, outcome.error, { durationMs, notes });
  return event('tool.completed', facts(claim, durationMs, notes), { result: json(outcome.result) });
}

/** What has become of a call whose outcome no record holds, and what whoever asked for it may do. */
function unrecordedError(call: CallToRun, type: string, why: Refused): ToolFailure {
  const ended = type === 'tool.completed' ? 'ran and completed' : 'ran and failed';
  const next =
    call.effect === 'at-most-once'
      ? 'It must not simply be made again: look at what it acted on.'
      : 'It does no harm to make it again: ask for less.';
  const message = `The call ${ended}, but its outcome could not be recorded: ${why.message}. ${next}`;
  return { code: why.code, class: 'limit', message, retryable: false };
}

function unrecorded(
  claim: Claim,
  call: CallToRun,
  at: { outcome: Draft<InputEventType>; why: Refused },
): Draft<'tool.failed'> {
  const { type, data } = at.outcome;
  const durationMs = 'durationMs' in data ? data.durationMs : 0;
  return failed(claim, unrecordedError(call, type, at.why), { durationMs });
}

const notStartedErrors: Record<'cancelled' | 'timeout', ToolFailure> = {
  cancelled: {
    code: 'CALL_CANCELLED',
    message: 'The call was not started: what asked for it had ended.',
    class: 'cancelled',
    retryable: false,
  },
  timeout: {
    code: 'CALL_EXPIRED',
    message: 'The call was not started: its deadline had passed.',
    class: 'timeout',
    retryable: true,
  },
};

const nobodyAnswers: ToolFailure = {
  code: 'NOT_ANSWERED',
  class: 'unavailable',
  message: 'In this fork tools are not run, and neither its record nor its mocks answer this call.',
  fix: 'Give a mock for it (--tools mock FILE), or fork with --tools live.',
  retryable: false,
};

/** The outcome of a call that a fork answers by itself. `isolation` says where that is from. */
function preparedDraft(claim: Claim, { prepared = 'none', checked }: CallToRun) {
  // Whose calls are not run needs no server that is well.
  if (prepared === 'none' && checked !== undefined)
    return event('tool.completed', facts(claim, 0, undefined), { result: json({ asked: false }) });
  const isolation = prepared === 'none' ? 'none' : prepared.from;
  const at = { durationMs: 0, notes: { isolation } };
  if (prepared === 'none') return failed(claim, nobodyAnswers, at);
  const { failure, result = null } = prepared;
  if (failure === undefined)
    return event('tool.completed', facts(claim, 0, at.notes), { result: json(result) });
  const error = { class: 'tool-error', retryable: false, ...failure } as ToolFailure;
  return failed(claim, error, at);
}

type Control = Readonly<{ signal: AbortSignal; traceparent: string }>;

/** Carries the call out, or turns it away where its tool does not work. */
async function outcomeOf<S>(
  { breakers, clock, runnerFor }: ToolEffectParts<S> & { breakers: ToolBreakers },
  { claim, call, tenant }: Readonly<{ claim: Claim; call: CallToRun; tenant: string }>,
  control: Control,
): Promise<ToolOutcome> {
  const { deadlineAtMs, call: callId, tool } = claim.data;
  const { definition } = call;
  const at = () => ({ call: callId, tenant, definition, deadlineAtMs, nowMs: clock.nowMs() });
  const error = breakers.refusal(at());
  if (error !== undefined) return { kind: 'failed', error };
  const { arguments: given, checked } = call;
  const asked = {
    ...{ callId, tool, arguments: given, deadlineAtMs, definition, ...control },
    ...(checked === undefined ? {} : { checked }),
  };
  const outcome = await runnerFor(call).run(asked);
  breakers.ended(at(), outcome);
  return outcome;
}

/** Effects of a service that runs tools. */
export function createToolEffects<S>(given: ToolEffectParts<S>): Effects<S> {
  const parts = { ...given, breakers: new ToolBreakers() };
  const start = async (claim: Claim, call: CallToRun, at: Control & { tenant: string }) => {
    const { tenant, ...control } = at;
    if (call.prepared !== undefined) return preparedDraft(claim, call);
    const startedMs = parts.clock.nowMs();
    const outcome = await outcomeOf(parts, { claim, call, tenant }, control);
    if (outcome.kind === 'unknown') {
      const { code, message: error } = outcome.error;
      const fields = { call: claim.data.call, code, error };
      parts.logger.warn(fields, 'nobody saw how the call ended');
    }
    return outcomeDraft(claim, outcome, parts.clock.nowMs() - startedMs);
  };
  return {
    mayRun: parts.mayRun,
    jobOf(seen, state, { tenant }): EffectJob | undefined {
      if (seen.type !== 'tool.claimed') return undefined;
      const call = parts.callOf(state, seen.data.call);
      if (call === undefined) return undefined;
      return {
        call: seen.data.call,
        deadlineAtMs: seen.data.deadlineAtMs,
        run: (control) => start(seen, call, { ...control, tenant }),
        notStarted: (reason) => failed(seen, notStartedErrors[reason], { durationMs: 0 }),
        unrecorded: (outcome, why) => unrecorded(seen, call, { outcome, why }),
      };
    },
  };
}
