import type { AppendError } from '../log/append-error.ts';
import type { HostPorts } from './ports.ts';

/** Something that must reach a log, and carries no number: an outcome, a timer, a relay, a public message. */
export type Wish = Readonly<{
  /** What it is, for the log. */
  what: string;
  fields: object;
  /** Asked before it is sent again; false gives it up. */
  wanted: () => boolean;
  /** Hands it to a writer. One of the two is called, once. */
  push: (on: { appended: () => void; refused: (error: AppendError) => void }) => void;
  onTaken?: () => void;
  /** The broker will never take it. */
  onHopeless: (error: AppendError) => void;
  /** It was refused, and is wanted no more. */
  onGivenUp?: () => void;
}>;

const waitMsLeast = 500;
const waitMsMost = 60_000;

/** What is logged each time; a person has to mend it. */
export const refusedForNow = 'refused by the broker for now; sent again later';

/**
 * Sends until the broker takes it (DESIGN 3.2, 3.12). A refusal that can be mended (a right, a quota) is waited out with
 * back-off and an alarm in the log; one that cannot (too large) is told to whoever asked.
 */
export function persist(ports: Pick<HostPorts, 'clock' | 'logger'>, wish: Wish): void {
  const attempt = (refusals: number): void => {
    wish.push({
      appended: () => wish.onTaken?.(),
      refused: (error) => {
        if (!error.mendable) return wish.onHopeless(error);
        const waitMs = Math.min(waitMsMost, waitMsLeast * 2 ** Math.min(refusals, 8));
        const { what, fields } = wish;
        const fix = 'give this host the right to write there, or mend the policy that forbids it';
        ports.logger.error({ ...fields, what, waitMs, error: error.message, fix }, refusedForNow);
        ports.clock.after(waitMs, () => {
          if (wish.wanted()) attempt(refusals + 1);
          else wish.onGivenUp?.();
        });
      },
    });
  };
  attempt(0);
}
