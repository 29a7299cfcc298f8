import { LongreinError, toError } from '../chassis/errors.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import { noteTopic, requireSameTopic } from '../chassis/host/topic-identity.ts';
import type { Watermarks } from '../chassis/host/watermarks.ts';
import type { PartitionName } from '../chassis/log/port.ts';
import { type SinkState, sinkSession, storedName } from './decide.ts';
import type { EventRow } from './row.ts';

/**
 * Topics that were deleted and made again. What was in the one before is given up by a person (`topics reset`); from then on
 * another log of ranges follows the topic, and rows of both are told apart by the name of the topic.
 */
export class Makings {
  private readonly ports: Pick<HostPorts, 'log' | 'clock' | 'logger'>;
  private readonly watermarks: Pick<Watermarks, 'topic' | 'knownTopics' | 'put'>;

  constructor(
    ports: Pick<HostPorts, 'log' | 'clock' | 'logger'>,
    watermarks: Pick<Watermarks, 'topic' | 'knownTopics' | 'put'>,
  ) {
    this.ports = ports;
    this.watermarks = watermarks;
  }

  /** How often a topic was made; undefined for the first time. */
  of(topic: string): number | undefined {
    return this.watermarks.topic(topic)?.made;
  }

  /** All topics that were made again: another text means that there are more logs of ranges to open. */
  get text(): string {
    return this.watermarks
      .knownTopics()
      .flatMap(({ topic, made }) => (made === undefined ? [] : [storedName(topic, made)]))
      .sort()
      .join();
  }

  /** The log of ranges that follows a partition now. */
  sessionAt({ topic, partition }: PartitionName): string {
    return sinkSession(topic, partition, this.of(topic));
  }

  /** Whether somebody gave up the topic that this log of ranges follows. */
  isOver({ topic, made = 1 }: Pick<SinkState, 'topic' | 'made'>): boolean {
    return made < (this.of(topic) ?? 1);
  }

  /** Throws TOPIC_RECREATED until a person says that what was in the topic before may be lost. */
  async identify(topic: string): Promise<void> {
    const { log, clock } = this.ports;
    const id = await requireSameTopic(log, this.watermarks, topic);
    await noteTopic(this.watermarks, { topic, id, atMs: clock.nowMs() });
  }

  /**
   * Why a topic must not be read on; undefined where it may. One that was made again may soon hold records at the very
   * offsets that are read next: they would be taken for those of the one before.
   */
  async complaint(topic: string): Promise<LongreinError | undefined> {
    try {
      await requireSameTopic(this.ports.log, this.watermarks, topic);
      return undefined;
    } catch (thrown) {
      const error = toError(thrown);
      // Who is away says nothing of the topic.
      return error instanceof LongreinError && !error.retryable ? error : undefined;
    }
  }

  /** The rows of a range whose topic was given up before it was stored: none, and nobody can ever read them again. */
  givenUp(
    { topic, partition }: SinkState,
    range: { from: number; to: number },
  ): readonly EventRow[] {
    const fields = { topic, partition, ...range, code: 'RECORDS_GIVEN_UP' };
    this.ports.logger.error(fields, 'the topic was reset before these records were stored');
    return [];
  }
}
