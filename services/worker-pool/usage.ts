import type { SeenEvent } from '../../schemas/event.ts';
import type { Usage } from './state.ts';

/** The usage with what a call took. */
export function spent(usage: Usage, seen: SeenEvent<'model.completed' | 'model.failed'>): Usage {
  const { inputTokens, outputTokens, costNanoUsd } = seen.data;
  return {
    ...usage,
    inputTokens: usage.inputTokens + inputTokens,
    outputTokens: usage.outputTokens + outputTokens,
    costNanoUsd: usage.costNanoUsd + costNanoUsd,
  };
}
