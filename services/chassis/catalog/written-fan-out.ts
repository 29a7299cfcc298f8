/** Fan-outs as people write them, and the values that stand in for what they leave out. */

import type { FanOut } from '../../../schemas/definitions/plan.ts';

type Defaults = 'itemsMax' | 'parallelMax' | 'until' | 'onBranchFailure';

export type WrittenFanOut = Readonly<
  Omit<FanOut, Defaults | 'spread' | 'report'> &
    Partial<Pick<FanOut, Defaults>> & { spread?: Partial<NonNullable<FanOut['spread']>> }
>;

const fanOutDefaults = {
  itemsMax: 32,
  parallelMax: 32,
  until: 'all',
  onBranchFailure: 'fail',
} as const;

const spreadDefaults = { above: 32, perSession: 32 };

/** One that can never be wide says nothing of it. */
export function completeFanOut({ spread, ...written }: WrittenFanOut): FanOut {
  const fanOut = { ...fanOutDefaults, ...written };
  const most = fanOut.branches?.length ?? fanOut.itemsMax;
  const whole = { ...spreadDefaults, ...spread };
  return most <= whole.above ? fanOut : { ...fanOut, spread: whole };
}
