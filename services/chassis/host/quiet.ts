import type { ServiceEntry } from '../protocol/service-fold.ts';

/**
 * Whether a service has the very same to decide from: who had nothing to say to the one has nothing to say to the other,
 * at about the same time. Only what is the same object counts; entries share what did not change.
 */
export const decidesTheSame = (one: ServiceEntry, other: ServiceEntry): boolean =>
  one === other ||
  (one.state === other.state &&
    one.causes === other.causes &&
    one.broken === other.broken &&
    one.core.calls === other.core.calls &&
    one.core.failed === other.core.failed &&
    one.core.meta === other.core.meta);
