/** When a model's loop has to stop although it would go on: limits of its template, and signs that it goes nowhere. */

import type { ModelAgent } from '../../schemas/definitions/agent.ts';
import { repeatsOf } from './evolve-tool.ts';
import { failed, type Move } from './move.ts';
import type { AgentEntry, Failure, ToolCallEntry, Usage } from './state.ts';

const nanoUsdPerUsd = 1_000_000_000;

/** Money as people read it: `$0.0042`. */
export function dollars(nanoUsd: number): string {
  const whole = Math.floor(nanoUsd / nanoUsdPerUsd);
  const rest = String(nanoUsd % nanoUsdPerUsd).padStart(9, '0');
  return `$${whole}.${rest.replace(/0+$/, '').padEnd(2, '0')}`;
}

/** What an attempt has used so far, as a clause. */
export function spentText(usage: Usage): string {
  const { modelCalls, inputTokens, outputTokens, costNanoUsd } = usage;
  const calls = modelCalls === 1 ? '1 model call' : `${modelCalls} model calls`;
  return `${calls}, ${inputTokens + outputTokens} tokens, ${dollars(costNanoUsd)}`;
}

/** A failure that is told with what the attempt has cost; older templates were told without. */
export function stopped(
  definition: ModelAgent,
  entry: AgentEntry,
  { code, class: kind, message }: Pick<Failure, 'code' | 'class' | 'message'>,
): Move {
  const spent = definition.form === undefined ? '' : ` So far: ${spentText(entry.usage)}.`;
  return failed({ code, class: kind, retryable: false, message: `${message}${spent}` });
}

/** Whether all calls of a step were refused before anything ran. */
export const allRefused = (tools: readonly ToolCallEntry[]): boolean =>
  tools.length > 0 && tools.every(({ failure }) => failure?.class === 'denied');

function refusals(definition: ModelAgent, entry: AgentEntry): Move | undefined {
  const { refusedStepsMax: most } = definition;
  const { tools } = entry;
  const count = allRefused(tools) ? (entry.refused ?? 0) + 1 : 0;
  if (most === undefined || count < most) return undefined;
  const last = tools.at(-1)?.failure?.message ?? '';
  const message =
    `Agent "${definition.name}" made nothing but calls that were refused in ${count} steps, one after another; ` +
    `the last: ${last} Describe the tools better, raise refusedStepsMax, or use a stronger model.`;
  return stopped(definition, entry, { code: 'CALLS_REFUSED', class: 'invalid-arguments', message });
}

function repeats(definition: ModelAgent, entry: AgentEntry): Move | undefined {
  const { repeatsMax: most } = definition;
  if (most === undefined) return undefined;
  const looped = entry.tools.find(
    ({ signature }) => signature !== undefined && repeatsOf(entry, signature) >= most,
  );
  if (looped === undefined) return undefined;
  const message =
    `Agent "${definition.name}" goes in circles: it made the same call of "${looped.tool}" ${most} times and got the ` +
    'same answer each time. Say in its system text when to stop, or raise repeatsMax if it waits for something.';
  return stopped(definition, entry, { code: 'LOOP_DETECTED', class: 'step-limit', message });
}

function spending(definition: ModelAgent, entry: AgentEntry): Move | undefined {
  const { tokensMax, costNanoUsdMax, name } = definition;
  const { inputTokens, outputTokens } = entry.usage;
  const costNanoUsd = entry.usage.costNanoUsd + (entry.delegatedNanoUsd ?? 0);
  if (tokensMax !== undefined && inputTokens + outputTokens >= tokensMax) {
    const message = `Agent "${name}" has used its ${tokensMax} tokens (tokensMax) and is not done. Raise the limit, or give it a smaller task.`;
    return stopped(definition, entry, { code: 'TOKEN_LIMIT', class: 'limit', message });
  }
  const most =
    costNanoUsdMax === undefined ? undefined : costNanoUsdMax + (entry.raisedNanoUsd ?? 0);
  if (most === undefined || costNanoUsd < most) return undefined;
  const message = `Agent "${name}" has spent its ${dollars(most)} (costNanoUsdMax) and is not done. Raise the limit, or give it a smaller task.`;
  return stopped(definition, entry, { code: 'COST_LIMIT', class: 'budget', message });
}

/** Why the model is not asked again; undefined while it may be. */
export function limitReached(definition: ModelAgent, entry: AgentEntry): Move | undefined {
  return repeats(definition, entry) ?? refusals(definition, entry) ?? spending(definition, entry);
}
