/** Topics in which a session may be: a rescale adds some. */
import { registryTopic } from '../../schemas/topics.ts';
import { laneTableKey } from '../chassis/host/lane-table.ts';
import { everyLaneTopic, readLaneTable } from '../chassis/host/read-lane-table.ts';
import type { LogPort } from '../chassis/log/port.ts';
import { StackEmptyError } from './errors.ts';
import type { Tail } from './tail.ts';

/** So long a table is taken as known where nobody says that it changed. */
const freshMs = 10_000;

/**
 * Read once. From then on the registry's partition is followed and says when to read again: no goal waits for a look
 * at a table that hardly ever changes.
 */
export class LaneTopics {
  private readonly log: LogPort;
  private readonly tail: Tail;
  private known: { readonly topics: Promise<readonly string[]>; readonly atMs: number } | undefined;
  private watching: Promise<boolean> | undefined;
  private watched = false;

  constructor(log: LogPort, tail: Tail) {
    this.log = log;
    this.tail = tail;
  }

  /** Topics of every lane and generation. Throws LANE_TABLE_INVALID, and what a log throws that cannot be reached. */
  all(): Promise<readonly string[]> {
    const nowMs = performance.now();
    if (this.known === undefined || (!this.watched && nowMs - this.known.atMs > freshMs)) {
      const topics = this.read();
      const known = { topics, atMs: nowMs };
      this.known = known;
      // The next one asks again.
      topics.catch(() => {
        if (this.known === known) this.known = undefined;
      });
    }
    return this.known.topics;
  }

  private async read(): Promise<readonly string[]> {
    // First, so that no change falls between.
    this.watching ??= this.watch();
    const { watching } = this;
    const isHeard = await watching;
    this.watched = isHeard && this.watching === watching;
    return everyLaneTopic(await readLaneTable(this.log));
  }

  /** False where nobody could say that the table changed. */
  private async watch(): Promise<boolean> {
    try {
      await this.tail.listen(
        { topic: registryTopic, partition: 0 },
        {
          take: ({ key }) => {
            if (key === laneTableKey) this.known = undefined;
          },
          fail: () => this.forget(),
        },
      );
      return true;
    } catch (thrown) {
      this.watching = undefined;
      // An installation that never had a registry.
      if (thrown instanceof StackEmptyError) return false;
      throw thrown;
    }
  }

  private forget(): void {
    this.known = undefined;
    this.watching = undefined;
    this.watched = false;
  }
}
