import { backOffMs } from '../chassis/effects/back-off.ts';
import { memberOf } from '../chassis/effects/member.ts';
import { providerOf } from './model-name.ts';
import type { NotAsked, NotAskedBecause } from './not-asked.ts';
import type { Purse } from './purse.ts';
import type { ModelCallEntry, ModelGatewayState, Quote, Tried } from './state.ts';

/**
 * Which model a call goes to next: a pure choice from what the log says of earlier tries, and what a
 * host says of its models (facts).
 *
 * R1 The models of a list are asked in its order; one that failed for good is not asked again.
 * R2 One that failed for now is asked again when its back-off is over (never before what its
 *    provider asked for); until then the next one is.
 * R3 A model that its host cannot ask now, or that costs more than is left, is passed over; the
 *    choice says so.
 */

/** What a host says of one model for one call: what it costs at most, or why it cannot ask it now. */
export type Standing = Readonly<{
  quote?: Quote;
  not?: NotAskedBecause;
  /** When that may be over, Unix time in ms. */
  untilMs?: number;
}>;

/** By model. */
export type Standings = Readonly<Record<string, Standing>>;

/** The models that a call may go to, in order. */
export const candidatesOf = (
  { routes = {} }: Pick<ModelGatewayState, 'routes'>,
  { model }: Pick<ModelCallEntry, 'model'>,
): readonly string[] => memberOf(routes, model) ?? [model];

/** A claim that was lost is made again for the same model: its money is held already. */
const openTo = (state: ModelGatewayState, entry: ModelCallEntry): readonly string[] =>
  entry.claims > 0 && entry.chosen !== undefined ? [entry.chosen] : candidatesOf(state, entry);

const isReachable = (model: string, providers: readonly string[]): boolean =>
  providers.includes(providerOf(model)) && !model.endsWith('/');

/** Whether the gateway itself tries again; the agent does where it named one model only. */
export const isRouted = (
  { routes = {} }: Pick<ModelGatewayState, 'routes'>,
  { model }: Pick<ModelCallEntry, 'model'>,
): boolean => memberOf(routes, model) !== undefined;

/** So many tries in all: each model once, and two more. */
export const triesMax = (candidates: readonly string[]): number => candidates.length + 2;

export type Chosen = Readonly<{ model: string; quote?: Quote; passedOver: readonly NotAsked[] }>;

export type Choice = Readonly<{ chosen?: Chosen; passedOver: readonly NotAsked[] }>;

/** When a model that failed may be asked again; infinite where it failed for good. */
function readyAtMs(model: string, tried: readonly Tried[]): number {
  const own = tried.filter((one) => one.model === model);
  const last = own.at(-1);
  if (last === undefined) return 0;
  if (!last.retryable) return Number.POSITIVE_INFINITY;
  return last.atMs + backOffMs(own.length, last.address, last.retryAfterMs);
}

/** The first model of the call's list that can be asked now; with why those before it are not. */
export function chooseModel(
  state: ModelGatewayState,
  entry: ModelCallEntry,
  at: { providers: readonly string[]; standings: Standings; purse: Purse; nowMs: number },
): Choice {
  const passedOver: NotAsked[] = [];
  for (const model of openTo(state, entry)) {
    const readyMs = readyAtMs(model, entry.tried ?? []);
    const { not, untilMs, quote } = memberOf(at.standings, model) ?? {};
    const ofPurse = quote === undefined ? undefined : at.purse.refuses(entry, quote);
    if (!isReachable(model, at.providers)) passedOver.push({ model, because: 'no-provider' });
    else if (readyMs === Number.POSITIVE_INFINITY) passedOver.push({ model, because: 'failed' });
    else if (readyMs > at.nowMs) passedOver.push({ model, because: 'failed', untilMs: readyMs });
    else if (ofPurse !== undefined) passedOver.push({ model, because: ofPurse });
    else if (not !== undefined)
      passedOver.push({ model, because: not, ...(untilMs === undefined ? {} : { untilMs }) });
    else
      return {
        chosen: { model, ...(quote === undefined ? {} : { quote }), passedOver },
        passedOver,
      };
  }
  return { passedOver };
}

const neverAgain: ReadonlySet<NotAskedBecause> = new Set([
  ...(['no-provider', 'no-price', 'too-dear', 'task-budget', 'day-budget'] as const),
]);

/** Whether a model that is not asked now may be asked later without anything new in the log. */
export const mayBeAskedLater = ({ because, untilMs }: NotAsked): boolean =>
  because === 'failed' ? untilMs !== undefined : !neverAgain.has(because);
