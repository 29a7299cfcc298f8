import { LongreinError, toError } from '../errors.ts';
import type { HostPorts } from './ports.ts';
import { noteTopic, requireSameTopic } from './topic-identity.ts';
import type { Watermarks } from './watermarks.ts';

type Parts = Readonly<{ ports: Pick<HostPorts, 'log' | 'clock'>; watermarks: Watermarks }>;

/** Whether the topics of a host are those that its watermarks speak of (DESIGN 3.13). */
export class KnownTopics {
  private readonly parts: Parts;
  private readonly identifying = new Map<string, Promise<void>>();
  /** Topics whose identity this host has written down. */
  private readonly noted = new Set<string>();

  constructor(parts: Parts) {
    this.parts = parts;
  }

  /** Partitions of a topic that are opened at once ask once. Throws LongreinError TOPIC_RECREATED. */
  identify(topic: string): Promise<void> {
    const asked = this.identifying.get(topic);
    if (asked !== undefined) return asked;
    const asking = this.identifyNow(topic).finally(() => this.identifying.delete(topic));
    this.identifying.set(topic, asking);
    return asking;
  }

  private async identifyNow(topic: string): Promise<void> {
    const { ports, watermarks } = this.parts;
    const id = await requireSameTopic(ports.log, watermarks, topic);
    if (this.noted.has(topic)) return;
    await noteTopic(watermarks, { topic, id, atMs: ports.clock.nowMs() });
    this.noted.add(topic);
  }

  /**
   * Whether the topics are still those that were opened: one that is deleted and made again may soon hold records at the
   * very offsets that are read next.
   */
  async check(
    topics: ReadonlySet<string>,
    onOther: (topic: string, error: Error) => void,
  ): Promise<void> {
    const { ports, watermarks } = this.parts;
    for (const topic of topics) {
      try {
        await requireSameTopic(ports.log, watermarks, topic);
      } catch (thrown) {
        const error = toError(thrown);
        // Who is away says nothing of the topic.
        if (error instanceof LongreinError && !error.retryable) onOther(topic, error);
      }
    }
  }
}
