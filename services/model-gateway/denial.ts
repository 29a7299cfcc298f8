/** Why a call is not made, in words: what, how much, and what to do. */

import type { DataOf } from '../../schemas/event.ts';
import { isDelegated } from '../chassis/catalog/child-task.ts';
import { sortedEntries } from '../chassis/effects/member.ts';
import type { NotAsked } from './not-asked.ts';
import type { Purse } from './purse.ts';
import type { ModelCallEntry, ModelGatewayState, Quote, Tried } from './state.ts';

export type Denial = Readonly<{
  code: string;
  message: string;
  class?: DataOf<'model.denied'>['class'];
}>;

const usd = (nanoUsd: number): string => `${nanoUsd} nano-USD`;

export function unknownModel(model: string, providers: readonly string[]): Denial | undefined {
  const slash = model.indexOf('/');
  const provider = model.slice(0, Math.max(0, slash));
  if (providers.includes(provider) && model.length > slash + 1) return undefined;
  const names = [...providers].sort().join(', ') || 'none';
  const what =
    provider === ''
      ? `"${model}" is neither an alias of this session nor the name of a model (provider/model).`
      : `There is no model provider "${provider}" here.`;
  const known = `Providers that are set up: ${names}.`;
  const message = `${what} ${known} Set its key, or choose one of them.`;
  return { code: 'UNKNOWN_MODEL', message };
}

/** Turns of before there were quotes have none: a call was made while anything was left. */
export function overBudget(state: ModelGatewayState): Denial | undefined {
  const { budgetNanoUsd, spentNanoUsd } = state;
  if (budgetNanoUsd === null || spentNanoUsd < budgetNanoUsd) return undefined;
  const message =
    `The goal's budget of ${usd(budgetNanoUsd)} is spent (${spentNanoUsd} so far). ` +
    'Submit it with a larger budgetNanoUsd, or with less to do.';
  return { code: 'BUDGET_EXHAUSTED', message };
}

export function noPrice({ model }: ModelCallEntry): Denial {
  const message =
    `The goal has a budget, and ${model} has no price, so that nobody can say what a call costs. ` +
    'Give it prices (LONGREIN_PRICES_FILE), use a model that has them, or set no budget.';
  return { code: 'MODEL_PRICE_UNKNOWN', message };
}

export function tooDear(entry: ModelCallEntry, quote: Quote, purse: Purse): Denial {
  const { model, outputTokensMax } = entry;
  const message =
    `A call of ${model} may cost ${usd(quote.costNanoUsd)} ` +
    `(${quote.inputTokensMost} tokens in at most, ${outputTokensMax} out), ` +
    `and ${purse.leftNanoUsd} of the goal's budget are left. ` +
    'Submit it with a larger budgetNanoUsd, a smaller outputTokensMax, or less to do.';
  return { code: 'BUDGET_EXHAUSTED', message };
}

export function overTask({ task }: ModelCallEntry, quote: Quote, left: number): Denial {
  if (isDelegated(task)) {
    const message =
      `A call may cost ${usd(quote.costNanoUsd)}, and ${left} of what was set aside for the delegated task "${task}" are left. ` +
      'Delegate it with a larger budgetPercent, or with less to do.';
    return { code: 'TASK_BUDGET_EXHAUSTED', class: 'budget', message };
  }
  const message =
    `A call may cost ${usd(quote.costNanoUsd)}, and ${left} of the budget of task "${task}" are left. ` +
    'Raise budgetNanoUsd of the task in its plan, or give its agent a smaller outputTokensMax.';
  return { code: 'TASK_BUDGET_EXHAUSTED', class: 'budget', message };
}

export function overDay(
  _entry: ModelCallEntry,
  quote: Quote,
  refused: { leftNanoUsd: number; limitNanoUsd: number } | undefined,
): Denial {
  const { leftNanoUsd = 0, limitNanoUsd = 0 } = refused ?? {};
  const message =
    `A call may cost ${usd(quote.costNanoUsd)}, and ${leftNanoUsd} of the ${usd(limitNanoUsd)} ` +
    'that this tenant may spend today can be had. Wait for the next day (UTC), or raise ' +
    'dayBudgetNanoUsd of the tenant in the providers file.';
  return { code: 'TENANT_BUDGET_EXHAUSTED', class: 'budget', message };
}

export const runnerLost = (claims: number): Denial => ({
  code: 'RUNNER_LOST',
  message:
    `Nobody saw the answer of this model call, made ${claims} times, and it is not made again. ` +
    'Look at the log of the model gateway for why its hosts went away or let the deadline pass.',
});

export const notWanted: Denial = {
  code: 'CALL_CANCELLED',
  message: 'Nobody saw the answer of this model call, and what asked for it has ended.',
};

/** Every model of the list failed for good. */
export function allFailed({ model }: ModelCallEntry, tried: readonly Tried[]): Denial | undefined {
  const last = tried.at(-1);
  if (last === undefined) return undefined;
  const newest = Object.fromEntries(tried.map((one) => [one.model, one.code]));
  const said = sortedEntries(newest).map(([name, code]) => `${name}: ${code}`);
  const message =
    `Every model that "${model}" stands for failed (${said.join(', ')}). ` +
    'Read model.attempt-failed in this session for what each of them said.';
  return { code: last.code, class: last.class, message };
}

const words: Readonly<Record<NotAsked['because'], string>> = {
  'breaker-open': 'has failed too often, and is left alone for a while',
  'retry-after': 'asked to be left alone for a while',
  'rate-limited': 'is at the rate limit that providers.yaml sets',
  'tenant-rate-limited': 'is at the rate limit that providers.yaml sets for this tenant',
  busy: 'has as many calls under way as providers.yaml allows',
  failed: 'failed',
  'too-dear': 'may cost more than is left',
  'task-budget': 'may cost more than is left of the budget of the task',
  'day-budget': 'may cost more than is left of the day',
  'day-budget-asked': 'waits for the budget log of the tenant to lend money of the day',
  'no-price': 'has no price',
  'no-provider': 'belongs to a provider that is not set up here',
};

const limiting: ReadonlySet<NotAsked['because']> = new Set([
  ...(['rate-limited', 'tenant-rate-limited', 'busy', 'retry-after'] as const),
]);

/** The call waited as long as it may. */
export function waitedInVain(entry: ModelCallEntry, passedOver: readonly NotAsked[]): Denial {
  const isLimited = passedOver.every(({ because }) => limiting.has(because));
  const said = passedOver.map(({ model, because }) => `${model} ${words[because]}`).join('; ');
  return {
    code: isLimited ? 'MODEL_RATE_LIMITED' : 'MODEL_UNAVAILABLE',
    class: isLimited ? 'rate-limited' : 'unavailable',
    message:
      `No model could be asked within ${entry.timeoutMs} ms: ${said}. ` +
      'Raise the limits, give the agent more time, or name a further model in models.yaml.',
  };
}
