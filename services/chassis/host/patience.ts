import { LongreinError, toError } from '../errors.ts';
import type { HostPorts } from './ports.ts';

export type Patience = Readonly<{
  ports: Pick<HostPorts, 'clock' | 'logger'>;
  /** What is tried, for the log. */
  what: string;
  /** Asked before each try; false ends it. */
  wanted: () => boolean;
}>;

const waitMsMax = 5_000;

/**
 * Tries again what fails only because something is away (DESIGN 3.14), for as long as it is wanted. Undefined where it
 * is wanted no longer. Throws what waiting does not cure.
 */
export async function whileAway<T>(
  { ports, what, wanted }: Patience,
  attempt: () => Promise<T>,
): Promise<T | undefined> {
  for (let tries = 0; wanted(); tries++) {
    try {
      return await attempt();
    } catch (thrown) {
      const error = toError(thrown);
      if (!(error instanceof LongreinError) || !error.retryable) throw error;
      const { code, message, fix } = error;
      ports.logger.warn({ code, error: message, fix }, `${what} has to wait`);
      await new Promise<void>((resolve) => {
        ports.clock.after(Math.min(waitMsMax, 200 * 2 ** Math.min(tries, 5)), resolve);
      });
    }
  }
  return undefined;
}

/** What the work gives, if it does so within the time; else undefined, and `wanted` says from then on that it may stop. */
export function within<T>(
  clock: HostPorts['clock'],
  waitMs: number,
  work: (wanted: () => boolean) => Promise<T>,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const cancel = clock.after(waitMs, () => {
      isOver = true;
      resolve(undefined);
    });
    work(() => !isOver)
      .then(resolve, reject)
      .finally(cancel);
  });
}
