import type { Content } from '../../schemas/event.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import { type Happening, type History, numberIn, textIn } from '../read/history.ts';
import { isHousekeeping } from '../show/event-text.ts';

/** A session as the steps that it took, in words that two sessions can share: no ids, no times. */

export type Step = Readonly<{
  /** What happened, to whom: equal in two sessions where both did the same. */
  key: string;
  /** What was said and given; equal where that is the same too. */
  bodies: string;
  happening: Happening;
}>;

const named = ['plan', 'tool', 'model', 'status', 'code', 'check', 'finishReason'] as const;

function keyOf(one: Happening): string {
  const { type } = one.event;
  const { task, agent } = one.scope;
  const attempt = one.scope.attempt ?? numberIn(one, 'attempt');
  const who =
    agent ?? (task === undefined ? '' : `${task}${attempt === undefined ? '' : `.${attempt}`}`);
  const what = named.map((name) => textIn(one, name)).filter((text) => text !== '');
  const step = numberIn(one, 'step');
  return [type, who, ...(step === undefined ? [] : [`step ${step}`]), ...what]
    .filter((part) => part !== '')
    .join(' ');
}

const bodiesOf = ({ event }: Happening): string =>
  canonical(
    Object.entries(event.content as Readonly<Record<string, Content>>).map(([name, content]) => [
      name,
      content.body ?? content.digest,
    ]),
  );

/** The steps of a session, without what keeps the house in order. */
export const pathOf = (history: History): readonly Step[] =>
  history.whole
    .filter(({ event }) => !isHousekeeping(event.type))
    .map((happening) => ({ key: keyOf(happening), bodies: bodiesOf(happening), happening }));
