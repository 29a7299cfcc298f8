import { toError } from '../errors.ts';
import type { LogPort, Membership, MembershipHandlers } from '../log/port.ts';
import type { Logger } from './ports.ts';

type Parts = Readonly<{
  log: LogPort;
  logger: Logger;
  group: string;
  handlers: MembershipHandlers;
}>;

/**
 * A host's seat in its consumer group. When its topics change it leaves and joins anew; what it owns it keeps meanwhile,
 * as the log and not the group says who owns what (DESIGN 3.1).
 */
export class GroupSeat implements Membership {
  private readonly parts: Parts;
  private member: Membership | undefined;
  private last: Promise<void> = Promise.resolve();
  private left = false;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  /** The first joining; its errors are the caller's. */
  async join(topics: readonly string[]): Promise<void> {
    const { log, group, handlers } = this.parts;
    this.member = await log.join(group, topics, handlers);
  }

  /** Takes part with these topics from now on. One change at a time, tried until the broker takes it. */
  change(topics: () => Promise<readonly string[]>, pause: () => Promise<void>): void {
    this.last = this.last.then(async () => {
      while (!this.left) {
        try {
          const wanted = await topics();
          await this.member?.leave();
          this.member = undefined;
          await this.join(wanted);
          return;
        } catch (thrown) {
          const fields = { group: this.parts.group, error: toError(thrown).message };
          this.parts.logger.warn(fields, 'the group has to be joined with new topics; again');
          await pause();
        }
      }
    });
  }

  async commit(offsets: Parameters<Membership['commit']>[0]): Promise<void> {
    await this.member?.commit(offsets);
  }

  async leave(): Promise<void> {
    this.left = true;
    await this.last;
    await this.member?.leave();
  }
}
