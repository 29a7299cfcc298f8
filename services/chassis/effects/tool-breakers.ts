/**
 * Circuit breakers of tools, as plain state of one host. They stand between a claim and what carries it out: a call that
 * is turned away gets an outcome like any other, so that the log has the reason, and no decision depends on what only
 * this host has seen.
 *
 * B1 Closed until so many calls in a row failed for reasons that speak of the tool; then open for a time that doubles
 *    with each probe that fails.
 * B2 After that time one call is let through as a probe, and no other until it has ended.
 * B3 Each version of a tool counts for itself and for each tenant: what one tenant's calls bring about stops nobody else.
 */

import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { ToolFailure, ToolOutcome } from './tool-port.ts';

const coolMsMax = 300_000;

/** Reasons that speak of the tool. Others are answers: it is there, and says why it does not do this. */
const telling: ReadonlySet<ToolFailure['class']> = new Set(['timeout', 'crashed', 'unavailable']);

type Standing = {
  failures: number;
  /** How often it opened since it last worked. */
  opened: number;
  openUntilMs: number;
  /** The call that tries whether the tool works again, and when it has to have ended. */
  probe?: Readonly<{ call: string; untilMs: number }> | undefined;
  last: string;
};

/** One call as a breaker sees it. */
export type BreakerCall = Readonly<{
  call: string;
  tenant: string;
  definition: ToolDefinition;
  nowMs: number;
  deadlineAtMs: number;
}>;

type Shown = 'works' | 'fails' | 'nothing';

function shownBy(outcome: ToolOutcome): Shown {
  if (outcome.kind === 'completed') return 'works';
  if (outcome.kind === 'unknown') return 'fails';
  const { class: kind } = outcome.error;
  if (kind === 'cancelled') return 'nothing';
  return telling.has(kind) ? 'fails' : 'works';
}

function turnedAway(tool: string, { failures, last }: Standing, untilMs: number): ToolFailure {
  const until = new Date(untilMs).toISOString();
  return {
    code: 'TOOL_SUSPENDED',
    class: 'unavailable',
    message:
      `The call was not made: ${tool} is suspended until ${until}, because ${failures} of its calls in a row failed ` +
      `(${last}).`,
    retryable: true,
    fix: 'Call it again after that time, or do without it.',
  };
}

/** A tool against which nothing stands has no entry: memory is bound by what fails. */
export class ToolBreakers {
  private readonly standings = new Map<string, Standing>();

  /** Why the call is not made; undefined where it may be: it is the probe then if there has to be one. */
  refusal(call: BreakerCall): ToolFailure | undefined {
    const standing = this.standings.get(keyOf(call));
    if (standing === undefined || standing.opened === 0) return undefined;
    const untilMs = Math.max(standing.openUntilMs, standing.probe?.untilMs ?? 0);
    if (untilMs > call.nowMs) return turnedAway(call.definition.name, standing, untilMs);
    standing.probe = { call: call.call, untilMs: call.deadlineAtMs };
    return undefined;
  }

  /** The call was made, and this became of it. */
  ended(call: BreakerCall, outcome: ToolOutcome): void {
    const { breaker } = call.definition;
    if (breaker === undefined) return;
    const key = keyOf(call);
    const shown = shownBy(outcome);
    if (shown === 'works') this.standings.delete(key);
    else if (shown === 'nothing') this.letGo(key, call);
    else if (outcome.kind !== 'completed') this.failed(key, call, outcome.error);
  }

  /** A probe that was cancelled has shown nothing: the next call is one. */
  private letGo(key: string, { call }: BreakerCall): void {
    const standing = this.standings.get(key);
    if (standing?.probe?.call === call) standing.probe = undefined;
  }

  private failed(key: string, { call, nowMs, definition }: BreakerCall, { code }: ToolFailure) {
    const standing = this.standings.get(key) ?? { ...nothingKnown };
    const isOpen = standing.opened > 0;
    // One that had begun before it opened says nothing new.
    if (isOpen && standing.probe?.call !== call) return;
    standing.failures += 1;
    standing.last = code;
    standing.probe = undefined;
    this.standings.set(key, standing);
    const { failuresMax = Infinity, coolMs = 0 } = definition.breaker ?? {};
    if (!isOpen && standing.failures < failuresMax) return;
    standing.openUntilMs = nowMs + Math.min(coolMsMax, coolMs * 2 ** Math.min(standing.opened, 20));
    standing.opened += 1;
  }
}

const nothingKnown: Standing = { failures: 0, opened: 0, openUntilMs: 0, last: '' };

const keyOf = ({ tenant, definition: { name, version } }: BreakerCall): string =>
  JSON.stringify([tenant, name, version]);
