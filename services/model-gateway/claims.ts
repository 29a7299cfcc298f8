/** What a decision says of one call: a claim, a wait, or a clear no. */

import { type DataOf, type Draft, event, text } from '../../schemas/event.ts';
import { claimsMax, lostReason } from '../chassis/effects/lost-claim.ts';
import { memberOf } from '../chassis/effects/member.ts';
import type { DecideInput } from '../chassis/protocol/service-logic.ts';
import * as denial from './denial.ts';
import type { ModelGatewayFacts } from './gateway-facts.ts';
import type { NotAsked } from './not-asked.ts';
import type { Purse } from './purse.ts';
import {
  type Chosen,
  candidatesOf,
  chooseModel,
  isRouted,
  mayBeAskedLater,
  type Standings,
  triesMax,
} from './route.ts';
import { type ModelCallEntry, type ModelGatewayState, type Quote, timerOfCall } from './state.ts';

/** One call with all that its answer depends on. */
export type Case = Readonly<{
  call: string;
  entry: ModelCallEntry;
  state: ModelGatewayState;
  purse: Purse;
  nowMs: number;
  providers: readonly string[];
  standings: Standings;
}>;

const denied = (call: string, { code, message, class: kind }: denial.Denial): Draft[] => {
  const data = kind === undefined ? { call, code } : { call, code, class: kind };
  return [event('model.denied', data, { message: text(message) })];
};

function becauseOf(
  { entry }: Case,
  chosen: Chosen,
): NonNullable<DataOf<'model.claimed'>['because']> {
  if (entry.claims > 0) return 'claim-lost';
  if (entry.tried?.some(({ model }) => model === chosen.model) === true) return 'retry';
  return chosen.passedOver.length > 0 ? 'next-choice' : 'first-choice';
}

/** What a claim says besides, where there was a choice. */
function choiceOf(at: Case, chosen: Chosen): Partial<DataOf<'model.claimed'>> {
  const { entry, state } = at;
  if (!isRouted(state, entry)) return {};
  const { tried = [], model: asked } = entry;
  const number = tried.length + 1;
  const final = number >= triesMax(candidatesOf(state, entry));
  const passedOver = [...chosen.passedOver];
  return { asked, try: number, final, because: becauseOf(at, chosen), passedOver };
}

const stopWaiting = ({ call, entry }: Case): Draft[] =>
  entry.waitsUntilMs === undefined ? [] : [event('timer.cancelled', { timer: timerOfCall(call) })];

function claimed(at: Case, chosen: Chosen): Draft[] {
  const { call, entry, nowMs } = at;
  const { claims, timeoutMs } = entry;
  const data = { call, attempt: claims + 1, model: chosen.model, deadlineAtMs: nowMs + timeoutMs };
  return [...stopWaiting(at), event('model.claimed', { ...data, ...choiceOf(at, chosen) })];
}

function reserved({ call, entry, purse }: Case, quote: Quote): Draft {
  const budgetLog = purse.logOf(entry);
  return event('budget.reserved', {
    call,
    attempt: entry.claims + 1,
    reservedNanoUsd: quote.costNanoUsd,
    leftNanoUsd: purse.leftNanoUsd,
    inputTokensMost: quote.inputTokensMost,
    outputTokensMax: entry.outputTokensMax,
    priceVersion: quote.priceVersion,
    ...(budgetLog === undefined ? {} : { budgetLog }),
  });
}

const giveUpAtMs = ({ entry, nowMs }: Case): number =>
  (entry.requestedAtMs ?? nowMs) + entry.timeoutMs;

/** Borrows of the day, and waits for that. */
function borrow(at: Case, { model, passedOver }: Chosen, quote: Quote): Draft[] {
  at.purse.borrow(quote);
  return defer(at, [...passedOver, { model, because: 'day-budget-asked' }]);
}

/** Holds the money first. */
function claim(at: Case, chosen: Chosen): Draft[] {
  const { call, state, purse, entry } = at;
  const { quote } = chosen;
  if (quote !== undefined && purse.limits(entry)) {
    if (purse.lacks(entry, quote)) return borrow(at, chosen, quote);
    purse.take(entry, quote);
    return [reserved(at, quote), ...claimed(at, chosen)];
  }
  const over = denial.overBudget(state);
  return over === undefined ? claimed(at, chosen) : denied(call, over);
}

/** Says what it waits for, and sets a timer for when nothing else makes it look again. */
function defer(at: Case, passedOver: readonly NotAsked[]): Draft[] {
  const { call, entry, nowMs } = at;
  const endMs = giveUpAtMs(at);
  if (nowMs >= endMs)
    return [...stopWaiting(at), ...denied(call, denial.waitedInVain(entry, passedOver))];
  if (entry.waitsUntilMs !== undefined) return [];
  const known = passedOver.filter(mayBeAskedLater).map(({ untilMs }) => untilMs ?? endMs);
  const untilMs = Math.max(nowMs + 1, Math.min(endMs, ...known));
  const number = (entry.tried?.length ?? 0) + 1;
  return [
    event('model.deferred', { call, try: number, waitsFor: [...passedOver], untilMs }),
    event('timer.set', { timer: timerOfCall(call), dueAtMs: untilMs }),
  ];
}

function quoteOf(at: Case, because: NotAsked['because'], passedOver: readonly NotAsked[]) {
  const quotes = passedOver.flatMap((one) => {
    const quote = one.because === because ? memberOf(at.standings, one.model)?.quote : undefined;
    return quote === undefined ? [] : [{ ...one, quote }];
  });
  return quotes.sort((left, right) => left.quote.costNanoUsd - right.quote.costNanoUsd)[0];
}

/** Why nothing can be asked, now or later. */
function hopeless(at: Case, passedOver: readonly NotAsked[]): denial.Denial {
  const { entry, purse, providers } = at;
  const dear = quoteOf(at, 'too-dear', passedOver);
  if (dear !== undefined) return denial.tooDear({ ...entry, model: dear.model }, dear.quote, purse);
  const ofTask = quoteOf(at, 'task-budget', passedOver);
  if (ofTask !== undefined)
    return denial.overTask(entry, ofTask.quote, purse.taskLeft(entry.task) ?? 0);
  const ofDay = quoteOf(at, 'day-budget', passedOver);
  if (ofDay !== undefined) return denial.overDay(entry, ofDay.quote, purse.tranche(entry)?.refused);
  const unpriced = passedOver.find(({ because }) => because === 'no-price');
  if (unpriced !== undefined) return denial.noPrice({ ...entry, model: unpriced.model });
  const failed = denial.allFailed(entry, entry.tried ?? []);
  return (
    failed ??
    denial.unknownModel(passedOver[0]?.model ?? entry.model, providers) ??
    denial.waitedInVain(entry, passedOver)
  );
}

function ask(at: Case): Draft[] {
  const { call, entry, state, purse } = at;
  const { chosen, passedOver } = chooseModel(state, entry, at);
  if (chosen !== undefined) return claim(at, chosen);
  // Money may come back that other calls hold.
  if (purse.mayGrow(entry) && passedOver.some(({ because }) => held.has(because))) return [];
  if (!passedOver.some(mayBeAskedLater))
    return [...stopWaiting(at), ...denied(call, hopeless(at, passedOver))];
  return defer(at, passedOver);
}

const held: ReadonlySet<NotAsked['because']> = new Set(['too-dear', 'task-budget']);

/** Whether a call is to be claimed, for the first time or again. */
export const isOpen = (
  input: Pick<DecideInput, 'lost' | 'openCalls'>,
  call: string,
  entry: ModelCallEntry,
): boolean => entry.claims === 0 || lostReason(input, call, entry.claim) !== undefined;

export function answerCall(input: DecideInput<ModelGatewayFacts>, at: Case): Draft[] {
  const { call, entry } = at;
  if (!isOpen(input, call, entry)) return [];
  if (entry.cancelled) return denied(call, denial.notWanted);
  if (entry.claims >= claimsMax) return denied(call, denial.runnerLost(entry.claims));
  return ask(at);
}
