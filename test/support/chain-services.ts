import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import { sessionTopic } from '../../schemas/topics.ts';
import type { HostedService } from '../../services/chassis/host/ports.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { idleLogic } from './placed-record.ts';

/**
 * Services that answer one another: the first answers what is sent to the session, each other one the one before it. Each
 * answers every event once, and names in its answer how many it has seen.
 */

export type Link = Readonly<{ seen: number; done: number }>;

/** A chain has an end, but for `circular`, whose first also answers its last, up to so many answers. */
export function chainLogic(name: string, before: string, circular = 0): AnyLogic {
  const isMine = ({ type, service }: SeenEvent): boolean =>
    before === ''
      ? type === 'key.released' || (circular > 0 && type === 'task.skipped' && service !== name)
      : type === 'task.skipped' && service === before;
  return idleLogic<Link>({
    name,
    initial: () => ({ seen: 0, done: 0 }),
    evolve(state, seen) {
      if (seen.service === name) return { ...state, done: state.done + 1 };
      return isMine(seen) ? { ...state, seen: state.seen + 1 } : state;
    },
    answers: isMine,
    decide({ seen, done }) {
      const drafts: Draft[] = [];
      for (let n = done + 1; n <= seen && (circular === 0 || n <= circular); n++)
        drafts.push(event('task.skipped', { task: `${name}${n}`, because: 'counted' }));
      return drafts;
    },
  });
}

export const hosted = (logic: AnyLogic): HostedService => ({
  logic,
  topics: [sessionTopic('normal')],
});

const [first, second, third] = ['a', 'b', 'c'] as const;

/** Three in a row. */
export const chain: Readonly<Record<'a' | 'b' | 'c', AnyLogic>> = {
  a: chainLogic(first, ''),
  b: chainLogic(second, first),
  c: chainLogic(third, second),
};
