import { type Draft, event } from '../../schemas/event.ts';
import { sortedEntries } from '../chassis/effects/member.ts';
import type { Purse } from './purse.ts';
import type { ModelGatewayState } from './state.ts';

/** Says what is set aside for work that has nothing yet; nothing once the session is over. */
export function setAsides(state: ModelGatewayState, purse: Purse): Draft[] {
  if (state.ended.session) return [];
  return sortedEntries(state.asides ?? {}).flatMap(([task, aside]) => {
    if (aside.setAsideNanoUsd !== undefined) return [];
    const left = purse.leftAround(task);
    const { percent, mostNanoUsd = Infinity } = aside;
    const setAsideNanoUsd = Math.min(Math.floor((left * percent) / 100), mostNanoUsd);
    purse.setAside(task, setAsideNanoUsd);
    const rest = Number.isFinite(left) ? { leftNanoUsd: left - setAsideNanoUsd } : {};
    return [event('budget.set-aside', { task, setAsideNanoUsd, ...rest })];
  });
}
