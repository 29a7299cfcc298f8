import { toError } from '../chassis/errors.ts';
import { GroupSeat } from '../chassis/host/group-seat.ts';
import type { Host } from '../chassis/host/host.ts';
import type { Lanes } from '../chassis/host/lanes.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import type { Companion, ServiceFactory } from '../chassis/host/service-context.ts';
import type { PartitionName } from '../chassis/log/port.ts';
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

type DutyParts = Readonly<{
  ports: HostPorts;
  lanes: Lanes | undefined;
  retentionMs: number;
  everyMs: number;
}>;

/** Rounds of a janitor over the partitions that its group gives it, one round at a time. */
class JanitorDuty implements Companion {
  private readonly parts: DutyParts;
  private partitions: readonly PartitionName[] = [];
  private membership: GroupSeat | undefined;
  private janitor: Janitor | undefined;
  private cancel: (() => void) | undefined;
  private stopped = false;

  constructor(parts: DutyParts) {
    this.parts = parts;
  }

  async start({ watermarks }: Host): Promise<void> {
    const { ports, retentionMs, lanes } = this.parts;
    const topics = (): readonly string[] => this.topics();
    this.janitor = new Janitor({ ports, watermarks, topics, retentionMs });
    this.membership = this.seat();
    await this.membership.join(this.topics());
    lanes?.onChange(() => this.follow());
    this.later();
  }

  private topics(): readonly string[] {
    return trimmedTopics.flatMap((topic) => this.parts.lanes?.topicsOf(topic) ?? [topic]);
  }

  private seat(): GroupSeat {
    const { log, logger } = this.parts.ports;
    const onAssignment = (partitions: readonly PartitionName[]): void => {
      this.partitions = partitions;
    };
    // Others take its partitions over; those that it had are looked after twice, which is harmless.
    const onCrash = (error: Error): void =>
      logger.error({ error: error.message }, 'janitor lost its group');
    return new GroupSeat({ log, logger, group, handlers: { onAssignment, onCrash } });
  }

  /** The lanes have other topics from now on. */
  private follow(): void {
    const pause = (): Promise<void> =>
      new Promise((resolve) => {
        this.parts.ports.clock.after(1_000, resolve);
      });
    this.membership?.change(async () => this.topics(), pause);
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
export const createJanitor: ServiceFactory = ({ config, ports, lanes }) => ({
  hosted: { logic, topics: [] },
  companion: new JanitorDuty({
    ports,
    lanes,
    retentionMs: config.retentionDays * dayMs,
    everyMs: config.housekeepingMs * looksPerRound,
  }),
});
