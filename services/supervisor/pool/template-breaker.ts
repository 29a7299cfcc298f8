/**
 * The circuit breakers of agent templates, in the log of their pool: a version of a template whose attempts fail, one
 * after another and over all sessions, is taken out, and comes back by a probe.
 *
 * B1 It is taken out after so many failures in a row; any attempt that completes ends that, and the count.
 * B2 While it is out nobody of it gets a place, but for one probe at a time once the time is over. A probe that fails
 *    takes it out again, for twice as long.
 * B3 Each version counts for itself: a template that was mended begins with nothing against it.
 */

import { type Draft, event, type SeenEvent } from '../../../schemas/event.ts';
import type { TemplateRules } from '../../chassis/catalog/recovery-policy.ts';
import {
  type Members,
  memberOf,
  sortedEntries,
  withMember,
  withoutMember,
} from '../../chassis/effects/member.ts';
import { afterEnd, type Breaker, closedBreaker, type Ended } from './breaker.ts';
import { type Place, slotOf, type Wish } from './share.ts';

export type TemplateState = Readonly<{ rules: TemplateRules; breaker: Breaker }>;

/** By digest; a template against which nothing stands has no entry. */
export type Templates = Members<TemplateState>;

export const noTemplates: Templates = {};

/** Why it may have failed although its template is sound: there was no money, or nobody wanted it any more. */
const silent: ReadonlySet<string> = new Set(['budget', 'cancelled']);

/** What a task was handed on for speaks of who did it then. */
const isTelling = ({ class: kind = '', handedOn }: Ended): boolean =>
  handedOn !== true && !silent.has(kind);

const withBreaker = (all: Templates, { rules }: TemplateState, breaker: Breaker): Templates =>
  breaker === closedBreaker
    ? withoutMember(all, rules.digest)
    : withMember(all, rules.digest, { rules, breaker });

function returned(
  before: Templates,
  { session, tasks }: SeenEvent<'slot.returned'>['data'],
  placeOf: (slot: string) => Place | undefined,
): Templates {
  return tasks.reduce((all, end) => {
    const slot = slotOf(session, end.task);
    const rules = placeOf(slot)?.template;
    if (rules === undefined) return all;
    const known = memberOf(all, rules.digest) ?? { rules, breaker: closedBreaker };
    const breaker = afterEnd(known.breaker, slot, { end, isTelling });
    return breaker === known.breaker ? all : withBreaker(all, { ...known, rules }, breaker);
  }, before);
}

function withoutProbe(before: Templates, slot: string): Templates {
  const found = Object.values(before).find(({ breaker }) => breaker.pause?.probe === slot);
  if (found?.breaker.pause === undefined) return before;
  const { probe: _gone, ...pause } = found.breaker.pause;
  return withBreaker(before, found, { ...found.breaker, pause });
}

/** The templates after the place `slot` went to a probe; the same where it did not. */
export function tried(
  before: Templates,
  { probe }: Readonly<{ probe?: string }>,
  slot: string,
): Templates {
  const known = probe === undefined ? undefined : memberOf(before, probe);
  if (known?.breaker.pause === undefined) return before;
  const pause = { ...known.breaker.pause, probe: slot };
  return withBreaker(before, known, { ...known.breaker, pause });
}

/**
 * An attempt completed while the suspension was on its way: it is in the log, so it is to be ended there. Nobody knows the
 * rules by then; none is asked for until that is said.
 */
function showedOtherwise(
  before: Templates,
  { agent, digest, suspensions: count, untilMs }: SeenEvent<'template.suspended'>['data'],
): Templates {
  const rules = { agent, digest, failuresMax: 1, coolMs: 0, meanwhile: 'wait' } as const;
  const breaker: Breaker = { ...closedBreaker, pause: { count, untilMs, shown: 'works' } };
  return withBreaker(before, { rules, breaker }, breaker);
}

/** The templates after this event; `placeOf` gives the place that a slot still holds. */
export function foldTemplates(
  before: Templates,
  seen: SeenEvent,
  placeOf: (slot: string) => Place | undefined,
): Templates {
  switch (seen.type) {
    case 'slot.returned':
      return returned(before, seen.data, placeOf);
    case 'slot.granted': {
      const { session, tasks } = seen.data;
      return tasks.reduce((all, one) => tried(all, one, slotOf(session, one.task)), before);
    }
    case 'slot.expired':
      return withoutProbe(before, slotOf(seen.data.session, seen.data.task));
    case 'template.suspended': {
      const { digest, suspensions: count, untilMs, failures } = seen.data;
      const known = memberOf(before, digest);
      if (known === undefined) return showedOtherwise(before, seen.data);
      return withBreaker(before, known, { ...known.breaker, failures, pause: { count, untilMs } });
    }
    case 'template.resumed':
      return withoutMember(before, seen.data.digest);
    default:
      return before;
  }
}

type Standing = 'in' | 'probe' | 'out';

/** Whether who waits may begin as far as the template is concerned. */
export function standingOf(templates: Templates, { template }: Wish, nowMs: number): Standing {
  const known = template === undefined ? undefined : memberOf(templates, template.digest);
  const pause = known?.breaker.pause;
  if (pause === undefined) return 'in';
  return pause.untilMs <= nowMs && pause.probe === undefined ? 'probe' : 'out';
}

/** What a place says that goes to a probe. */
export const probeOf = (
  templates: Templates,
  wish: Wish,
  nowMs: number,
): Readonly<{ probe?: string }> =>
  wish.template !== undefined && standingOf(templates, wish, nowMs) === 'probe'
    ? { probe: wish.template.digest }
    : {};

/** Why who waits does not get a place at all; undefined for a probe, and where the policy is to wait. */
export function deniedBy(
  templates: Templates,
  { template }: Wish,
  { probe }: Readonly<{ probe?: string }>,
) {
  if (template === undefined || template.meanwhile === 'wait' || probe !== undefined)
    return undefined;
  const { breaker } = memberOf(templates, template.digest) ?? { breaker: closedBreaker };
  const { pause, failures, last = { code: '', class: '' } } = breaker;
  if (pause === undefined) return undefined;
  return { agent: template.agent, failures, ...last, untilMs: pause.untilMs };
}

/** The slots of all probes that run. */
export const probesOf = (templates: Templates): readonly string[] =>
  Object.values(templates).flatMap(({ breaker }) => breaker.pause?.probe ?? []);

/** When a template is looked at again. */
export const templateTimer = (digest: string): string =>
  `supervisor/template/${digest.slice(0, 64)}`;

/** Doubled so often, and no longer than an hour. */
const coolMsMax = 3_600_000;

const pauseMs = (coolMs: number, suspensions: number): number =>
  Math.min(coolMsMax, coolMs * 2 ** Math.min(suspensions - 1, 20));

function decideOne(
  { rules, breaker }: TemplateState,
  { pool, nowMs }: Readonly<{ pool: string; nowMs: number }>,
): Draft[] {
  const { agent, digest, failuresMax, coolMs } = rules;
  const { failures, last = { code: '', class: '' }, pause } = breaker;
  const head = { pool, agent, digest };
  if (pause?.shown === 'works')
    return [event('template.resumed', { ...head, suspensions: pause.count })];
  const isDue = pause === undefined ? failures >= failuresMax : pause.shown === 'fails';
  if (!isDue) return [];
  const suspensions = (pause?.count ?? 0) + 1;
  const untilMs = nowMs + pauseMs(coolMs, suspensions);
  return [
    event('template.suspended', { ...head, failures, ...last, suspensions, untilMs }),
    event('timer.set', { timer: templateTimer(digest), dueAtMs: untilMs }),
  ];
}

/** What is due: a template is taken out, stays out, or comes back. */
export const decideTemplates = (
  templates: Templates,
  at: Readonly<{ pool: string; nowMs: number }>,
): Draft[] => sortedEntries(templates).flatMap(([, one]) => decideOne(one, at));
