import { toError } from '../chassis/errors.ts';
import type { Host } from '../chassis/host/host.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import type { Companion, ServiceFactory } from '../chassis/host/service-context.ts';
import type { Membership, PartitionName } from '../chassis/log/port.ts';
import type { AnyLogic } from '../chassis/protocol/service-logic.ts';
import { Janitor, trimmedTopics } from './janitor.ts';

const dayMs = 86_400_000;
const group = 'longrein.janitor.partitions';
/** Rounds are that much rarer than looks at sessions. */
const looksPerRound = 12;

/** It decides nothing in sessions: what it does follows from watermarks. */
const logic: AnyLogic = {
  name: 'janitor',
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => null,
  evolve: (state) => state,
  answers: () => false,
  decide: () => [],
};

type DutyParts = Readonly<{ ports: HostPorts; retentionMs: number; everyMs: number }>;

/** Rounds of a janitor over the partitions that its group gives it, one round at a time. */
class JanitorDuty implements Companion {
  private readonly parts: DutyParts;
  private partitions: readonly PartitionName[] = [];
  private membership: Membership | undefined;
  private janitor: Janitor | undefined;
  private cancel: (() => void) | undefined;
  private stopped = false;

  constructor(parts: DutyParts) {
    this.parts = parts;
  }

  async start({ watermarks }: Host): Promise<void> {
    const { ports, retentionMs } = this.parts;
    this.janitor = new Janitor({ ports, watermarks, retentionMs });
    this.membership = await ports.log.join(group, trimmedTopics, {
      onAssignment: (partitions) => {
        this.partitions = partitions;
      },
      // Others take its partitions over; those that it had are looked after twice, which is harmless.
      onCrash: (error) => ports.logger.error({ error: error.message }, 'janitor lost its group'),
    });
    this.later();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancel?.();
    await this.membership?.leave();
  }

  private later(): void {
    if (this.stopped) return;
    this.cancel = this.parts.ports.clock.after(this.parts.everyMs, () => {
      this.round()
        .catch((thrown: unknown) => {
          const error = toError(thrown).message;
          this.parts.ports.logger.warn({ error }, 'round of the janitor failed; later');
        })
        .finally(() => this.later());
    });
  }

  private async round(): Promise<void> {
    if (this.partitions.length > 0) await this.janitor?.run(this.partitions);
  }
}

/** Deletes from session logs what is older than LONGREIN_RETENTION_DAYS and needed by no service. */
export const createJanitor: ServiceFactory = ({ config, ports }) => ({
  hosted: { logic, topics: [] },
  companion: new JanitorDuty({
    ports,
    retentionMs: config.retentionDays * dayMs,
    everyMs: config.housekeepingMs * looksPerRound,
  }),
});
