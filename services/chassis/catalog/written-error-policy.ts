/** Error policies of agents as people write them, and what stands in for what they leave out. */

import type { ErrorPolicy, TemplateBreaker } from '../../../schemas/definitions/agent.ts';
import { heals } from './recovery-policy.ts';

export type WrittenErrorPolicy = Partial<Omit<ErrorPolicy, 'escalate' | 'breaker'>> &
  Readonly<{
    escalate?: Partial<NonNullable<ErrorPolicy['escalate']>>;
    breaker?: Partial<TemplateBreaker>;
  }>;

const errorDefaults = { attempts: 'resume', tools: 'tell', models: [] } as const;

const escalationDefaults = { timesMax: 3 };

const breakerDefaults = { failuresMax: 5, coolMs: 30_000, meanwhile: 'wait' } as const;

/** A policy with what stands in for what it leaves out. */
export function completeOnError(
  written: WrittenErrorPolicy = {},
  tools: ErrorPolicy['tools'] = errorDefaults.tools,
): ErrorPolicy {
  const { escalate, breaker, ...rest } = written;
  return {
    ...{ ...errorDefaults, tools, ...rest },
    ...(escalate === undefined ? {} : { escalate: { ...escalationDefaults, ...escalate } }),
    ...(breaker === undefined ? {} : { breaker: { ...breakerDefaults, ...breaker } }),
  };
}

/** Templates that say nothing of it stay as they were before agents could heal themselves. */
export function formOf(onError: ErrorPolicy): 2 | 3 | 4 {
  if (onError.breaker !== undefined) return 4;
  return heals(onError) ? 3 : 2;
}
