import { isError } from '../show/event-text.ts';
import { type Happening, type History, numberIn, textIn } from './history.ts';

/** Which event led to which. A turn names all that made its service decide; here one of them is found for each event. */

/** What an input answers: the claim of an outcome, the setting of a timer; undefined where it came from outside. */
function originOf(history: History, input: Happening): Happening | undefined {
  if (input.event.type !== 'timer.fired') return history.at(textIn(input, 'claim'));
  return history.at(`${textIn(input, 'record')}#${numberIn(input, 'index') ?? 0}`);
}

const weights = { call: 8, agent: 4, task: 2 } as const;

/** How much two events have to do with each other; 0: nothing that can be seen. */
function kinship(one: Happening, other: Happening): number {
  const { scope: a } = one;
  const { scope: b } = other;
  let score = 0;
  for (const [name, weight] of Object.entries(weights)) {
    const own = a[name as keyof typeof weights];
    if (own !== undefined && own === b[name as keyof typeof weights]) score += weight;
  }
  const isOtherAttempt = score > 0 && a.attempt !== undefined && b.attempt !== undefined;
  if (isOtherAttempt && a.attempt !== b.attempt) score -= 1;
  return isError(one.event.type) && isError(other.event.type) ? score + 3 : score;
}

/** The candidate that has most to do with it; of equals the newest. */
function closest(one: Happening, candidates: readonly Happening[]): Happening | undefined {
  let best: Happening | undefined;
  for (const candidate of candidates)
    if (best === undefined || kinship(one, candidate) >= kinship(one, best)) best = candidate;
  return best;
}

/** Earlier events of its own turn that went wrong, where it went wrong too: a failed agent fails its task. */
function failuresBefore(history: History, one: Happening): readonly Happening[] {
  if (!isError(one.event.type)) return [];
  return history
    .ofRecord(one.event.record)
    .filter(({ event }) => event.index < one.event.index && isError(event.type));
}

/** All events that its service answered with this one, the closest last. */
export function causesOf(history: History, one: Happening): readonly Happening[] {
  if (one.isInput) {
    const origin = originOf(history, one);
    return origin === undefined ? [] : [origin];
  }
  if (one.event.type === 'delivery.acknowledged' || one.event.type === 'delivery.refused')
    return [history.at(one.event.data)].flatMap((sent) => sent ?? []);
  const listed = one.causes.flatMap((address) => history.at(address) ?? []);
  // A turn names its causes in no order that says anything.
  const candidates = [...listed, ...failuresBefore(history, one)].toSorted(
    (a, b) => a.offset - b.offset || a.event.index - b.event.index,
  );
  const best = closest(one, candidates);
  return best === undefined ? [] : [...candidates.filter((other) => other !== best), best];
}

/** The event that led to this one; undefined where it came from outside of the session. */
export const causeOf = (history: History, one: Happening): Happening | undefined =>
  causesOf(history, one).at(-1);
