/** What stands in for what people leave out when they say whom an agent may give work to. */

import type { DelegationPolicy, HandoffPolicy } from '../../../schemas/definitions/agent.ts';

export type WrittenDelegation = Readonly<{
  delegates?: Partial<DelegationPolicy> & Pick<DelegationPolicy, 'agents'>;
  handoffs?: Partial<HandoffPolicy> & Pick<HandoffPolicy, 'agents'>;
}>;

const delegationDefaults = {
  depthMax: 2,
  parallelMax: 4,
  countMax: 16,
  budgetPercentMax: 50,
} as const;

const handoffDefaults = { with: 'summary', handoffsMax: 4 } as const;

/** Nothing for an agent that gives no work away: it stays as it was before agents could. */
export function completeDelegation({ delegates, handoffs }: WrittenDelegation) {
  return {
    ...(delegates === undefined ? {} : { delegates: { ...delegationDefaults, ...delegates } }),
    ...(handoffs === undefined ? {} : { handoffs: { ...handoffDefaults, ...handoffs } }),
  };
}
