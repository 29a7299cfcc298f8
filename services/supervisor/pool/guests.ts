/**
 * Attempts that work on the place of who waits for them: tasks that agents made. Neither the limits of the pool nor its
 * own breaker have a say in them, only the breaker of their template has (pure).
 *
 * G1 They take no place and no turn: who waits for them holds the place, and with a place each the two could wait for
 *    each other.
 * G2 What a probe gives away is part of the probe, and begins though its template is out. Else a probe could wait for
 *    itself, and two probes for each other.
 */

import type { DataOf, SeenEvent } from '../../../schemas/event.ts';
import { type Members, memberOf, withMember, withoutMember } from '../../chassis/effects/member.ts';
import { type Place, slotOf, type Wish } from './share.ts';

export type Guest = Wish & Readonly<{ tenant: string }>;

export type Guests = Readonly<{
  /** Whoever came first in front. */
  waiting: readonly Guest[];
  /** By `slotOf`. */
  working: Members<Place>;
}>;

export const noGuests: Guests = { waiting: [], working: {} };

type Meant = Readonly<{ session: string; task: string; attempt: number }>;

const isSame = (one: Meant, other: Meant): boolean =>
  one.session === other.session && one.task === other.task && one.attempt === other.attempt;

export const isWaitingGuest = ({ waiting }: Guests, meant: Meant): boolean =>
  waiting.some((one) => isSame(one, meant));

/** The guests with one more. Who asks for the same attempt again keeps the place in the line. */
export const welcome = (before: Guests, guest: Guest): Guests =>
  isWaitingGuest(before, guest) ? before : { ...before, waiting: [...before.waiting, guest] };

function admitted(before: Guests, { session, tasks }: DataOf<'slot.granted'>): Guests {
  return tasks.reduce((all, { task, attempt, untilMs }) => {
    const found = all.waiting.find((one) => isSame(one, { session, task, attempt }));
    if (found === undefined) return all;
    const { tenant, template } = found;
    const place = { tenant, attempt, untilMs, ...(template === undefined ? {} : { template }) };
    return {
      waiting: all.waiting.filter((one) => one !== found),
      working: withMember(all.working, slotOf(session, task), place),
    };
  }, before);
}

function gone(before: Guests, meant: Meant): Guests {
  const slot = slotOf(meant.session, meant.task);
  if (memberOf(before.working, slot)?.attempt === meant.attempt)
    return { ...before, working: withoutMember(before.working, slot) };
  if (!isWaitingGuest(before, meant)) return before;
  return { ...before, waiting: before.waiting.filter((one) => !isSame(one, meant)) };
}

/** The guests after this event; the same object where it is about none of them. */
export function foldGuests(before: Guests, seen: SeenEvent): Guests {
  switch (seen.type) {
    case 'slot.granted':
      return admitted(before, seen.data);
    case 'slot.returned':
    case 'slot.denied': {
      const { session, tasks } = seen.data;
      return [...tasks].reduce(
        (all, { task, attempt }) => gone(all, { session, task, attempt }),
        before,
      );
    }
    case 'slot.expired':
      return gone(before, seen.data);
    default:
      return before;
  }
}

/** Whether one of the probes gave away what this attempt is about (G2): tasks that agents made are called after them. */
export const isOfProbe = (
  probes: readonly string[],
  { session, task }: Pick<Guest, 'session' | 'task'>,
): boolean => probes.some((probe) => slotOf(session, task).startsWith(`${probe}/`));
