import { bodyOf, type Content } from '../../schemas/event.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import { causeOf } from '../read/causes.ts';
import { type Happening, type History, numberIn, textIn } from '../read/history.ts';
import { isError } from '../show/event-text.ts';
import { carrierOf } from './carrier.ts';

/**
 * The first event that made the outcome inevitable. Decisions are pure functions of the log: from the last thing on the
 * chain of causes that came from outside (an outcome, an answer, the goal, a clock, a setting), all that follows could
 * not be otherwise. Failures before it that were answered by another attempt are not on the chain.
 */

export type FirstFailure = Readonly<{
  outcome: Happening;
  first: Happening;
  /** Why nothing could come otherwise from there on, as a sentence. */
  because: string;
  /** From the first failure to the outcome. */
  chain: readonly Happening[];
  /** Events before it that went wrong and led to nothing, in order. */
  harmless: readonly Happening[];
}>;

const outcomes: ReadonlySet<string> = new Set([
  'session.failed',
  'session.cancelled',
  'result.replaced',
]);

const claims: Readonly<Record<string, readonly string[]>> = {
  'tool.claimed': ['tool.completed', 'tool.failed', 'tool.unknown'],
  'model.claimed': ['model.completed', 'model.failed', 'model.denied'],
};

/** The oldest call that was still on its way then; of one task, or of any. */
function openClaim(history: History, then: Happening): Happening | undefined {
  const { task, attempt } = then.scope;
  const { whole } = history;
  const past = whole.slice(0, whole.indexOf(then));
  return past.find((one, index) => {
    const ends = claims[one.event.type];
    if (ends === undefined || (task !== undefined && one.scope.task !== task)) return false;
    if (attempt !== undefined && one.scope.attempt !== attempt) return false;
    return !past
      .slice(index)
      .some(({ event, scope }) => scope.call === one.scope.call && ends.includes(event.type));
  });
}

/** What a clock ended: the call that did not come back, else what went wrong last, else the clock itself. */
function behindClock(history: History, fired: Happening): Happening {
  const open = openClaim(history, fired);
  if (open !== undefined) return open;
  const { task } = fired.scope;
  const wrong = history.before(
    fired,
    ({ event, scope }) => isError(event.type) && (task === undefined || scope.task === task),
  );
  return wrong ?? fired;
}

/** Who spent what was missing: the newest call that cost something, else the goal, whose budget was too small. */
const behindBudget = (history: History, denied: Happening): Happening | undefined =>
  history.before(denied, (one) => (numberIn(one, 'costNanoUsd') ?? 0) > 0 && one.isInput) ??
  history.ofType('session.opened')[0];

const foldThrew = /^\S+ (\S+#\d+): /;

const messageOf = ({ event }: Happening): string => {
  const content = (event.content as Readonly<Record<string, Content | undefined>>)['message'];
  return content?.body === undefined ? '' : String(bodyOf(content));
};

/** The event that a service could not take. */
const behindDecision = (history: History, failed: Happening): Happening | undefined =>
  history.at(foldThrew.exec(messageOf(failed))?.[1] ?? '') ?? causeOf(history, failed);

/** Checks that look at what is set up, not at what was asked. */
const ofSetUp: ReadonlySet<string> = new Set(['known', 'role', 'risk']);

/** What came from outside of the log, or is a fact of the service that decided it. */
function isOrigin(history: History, one: Happening): boolean {
  const { type } = one.event;
  if (one.isInput && type !== 'timer.fired') return true;
  if (type === 'model.denied') return textIn(one, 'code') !== 'BUDGET_EXHAUSTED';
  // A plan that a model made is rejected for what the model answered.
  if (type === 'plan.rejected') return causeOf(history, one)?.event.type === 'session.opened';
  return ['tool.unknown', 'delivery.refused'].includes(type);
}

type Step = Readonly<{ to: Happening | undefined; ends: boolean }>;

/** The first attempt at a task was asked for by what asked for the task; later ones only repeat it. */
function firstSchedule(history: History, scheduled: Happening): Happening {
  const first = history
    .ofType('task.scheduled')
    .find(({ scope }) => scope.task === scheduled.scope.task);
  return first ?? scheduled;
}

/** One step back from an event that is no origin. */
function stepBack(history: History, one: Happening): Step {
  switch (one.event.type) {
    case 'timer.fired':
      return { to: behindClock(history, one), ends: true };
    case 'model.denied':
      return { to: behindBudget(history, one), ends: true };
    case 'decision.failed':
      return { to: behindDecision(history, one), ends: true };
    case 'tool.denied':
      return behindDenial(history, one);
    case 'task.scheduled':
      return onwards(history, firstSchedule(history, one));
    default:
      return onwards(history, one);
  }
}

const onwards = (history: History, one: Happening): Step => ({
  to: causeOf(history, one),
  ends: false,
});

/**
 * A model asked for it; or an agent without a model, which calls what its template says: then the plan that pinned it is
 * to blame, or who brought the arguments.
 */
function behindDenial(history: History, denied: Happening): Step {
  const asked = causeOf(history, denied);
  const asker = asked === undefined ? undefined : causeOf(history, asked);
  if (asked === undefined || asker?.event.type === 'model.completed')
    return onwards(history, denied);
  if (ofSetUp.has(textIn(denied, 'check')))
    return { to: history.ofType('plan.accepted')[0], ends: true };
  const carrier = carrierOf(history, asked);
  return carrier === undefined ? onwards(history, denied) : { to: carrier, ends: true };
}

/** From the outcome back to the first failure. */
function chainFrom(history: History, outcome: Happening): readonly Happening[] {
  const chain = [outcome];
  const seen = new Set([outcome.address]);
  for (;;) {
    const [at] = chain;
    if (at === undefined || isOrigin(history, at)) return chain;
    const { to, ends } = stepBack(history, at);
    if (to === undefined || seen.has(to.address)) return chain;
    seen.add(to.address);
    chain.unshift(to);
    if (ends) return chain;
  }
}

const attemptText = (chain: readonly Happening[]): string => {
  const abandoned = chain.find(({ event }) => event.type === 'task.abandoned');
  const attempts = abandoned === undefined ? 0 : (numberIn(abandoned, 'attempts') ?? 0);
  const task = abandoned?.scope.task ?? '';
  if (attempts > 1) return `task ${task} had no further attempt after ${attempts}`;
  return task === '' ? 'nothing was left to try' : `task ${task} is not tried again after it`;
};

/** Why it could not come otherwise from there on. */
function reasonOf(chain: readonly Happening[]): string {
  const [first, next] = chain;
  switch (first?.event.type) {
    case 'tool.claimed':
    case 'model.claimed':
      return 'its outcome did not come before the time was over';
    case 'tool.completed':
      return next?.event.type === 'tool.denied'
        ? 'it brought arguments that the guard refuses'
        : attemptText(chain);
    case 'session.forked':
      return 'all that followed was decided from the past that it shares';
    case 'session.opened':
      return `all that followed was decided from what the goal says${next === undefined ? '' : ', without anything new from outside'}`;
    case 'session.cancel-requested':
      return 'somebody asked for the end';
    case 'plan.accepted':
      return 'it pins what the agent may do, and the agent needs more';
    case 'plan.rejected':
      return 'without a plan nothing can be done';
    case 'model.completed':
      return next?.event.type === 'model.denied'
        ? 'it spent what the budget had left'
        : `what the model answered could not be used; ${attemptText(chain)}`;
    case 'timer.fired':
      return 'the time was over';
    default:
      if (next?.event.type === 'decision.failed')
        return `${textIn(next, 'service')} cannot decide on it`;
      return attemptText(chain);
  }
}

function withoutFailure(history: History): LongreinError {
  const { core } = history.judged;
  const [done] = history.ofType('session.completed');
  if (core.status === 'open' && done === undefined)
    return new LongreinError('SESSION_RUNNING', `${history.session} still runs`, {
      fix: 'follow it: longrein replay show --follow; ask again when it has ended',
    });
  return new LongreinError('SESSION_NOT_FAILED', `${history.session} did not fail`, {
    fix: 'see what it did: longrein replay show',
  });
}

/** Finds the first failure. Throws LongreinError SESSION_NOT_FAILED, SESSION_RUNNING. */
export function firstFailureOf(history: History): FirstFailure {
  const outcome = history.entries.find(({ event }) => outcomes.has(event.type));
  if (outcome === undefined) throw withoutFailure(history);
  const chain = chainFrom(history, outcome);
  const [first = outcome] = chain;
  const onChain = new Set(chain.map(({ address }) => address));
  const { whole } = history;
  const before = whole.slice(0, whole.indexOf(first));
  const harmless = before.filter((one) => isError(one.event.type) && !onChain.has(one.address));
  return { outcome, first, because: reasonOf(chain), chain, harmless };
}
