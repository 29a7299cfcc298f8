import { type LiveForkOptions, liveFork } from '../../replay-tools/fork/live-fork.ts';
import { type Happening, History } from '../../replay-tools/read/history.ts';
import { readFromLog } from '../../replay-tools/read/kafka.ts';
import { judgeSession } from '../../replay-tools/read/session.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { partitionOf } from '../../services/chassis/log/partition.ts';
import { headersOf } from '../../services/chassis/protocol/record.ts';
import type { MemoryWorld } from './memory-world.ts';

/** Forks that go on live in a simulated world, as the command line opens them. */
export class ForkDesk {
  private readonly world: MemoryWorld;

  constructor(world: MemoryWorld) {
    this.world = world;
  }

  async historyOf(session: string): Promise<History> {
    const { world } = this;
    const reading = { log: world.connect('replay'), codec: world.codec, blobs: world.blobs };
    return await world.during(
      readFromLog(reading, session).then(async (source) => new History(await judgeSession(source))),
    );
  }

  /** Opens a fork; answers its session. Throws what `liveFork` throws. */
  async fork(
    history: History,
    at: Happening,
    options: Partial<LiveForkOptions> = {},
  ): Promise<string> {
    const { world } = this;
    const nowMs = world.clock.nowMs();
    const given = { settings: [], principal: 'sre', nonce: String(nowMs), nowMs, ...options };
    const fork = await world.during(liveFork(history, at, given));
    for (const { topic, session, id, body } of [fork, fork.goal]) {
      const partition = partitionOf(session, world.partitionCount(topic));
      const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' });
      const record = { key: session, headers, value: world.codec.encode('input', body) };
      await world.during(world.connect('sre').append({ topic, partition }, [record]));
    }
    return fork.session;
  }

  async verified(session: string) {
    const { world } = this;
    const reading = { log: world.connect('verify'), codec: world.codec, blobs: world.blobs };
    return await world.during(
      readFromLog(reading, session).then((source) => verifySession(source)),
    );
  }

  /** The session at its end. Throws if it does not come. */
  async ended(session: string): Promise<History> {
    for (let looks = 0; looks < 20; looks++) {
      await this.world.clock.run(5_000);
      const history = await this.historyOf(session);
      if (history.judged.core.status === 'closed') return history;
    }
    throw new Error(`${session} did not end`);
  }
}

/** The first event of a type. Throws if there is none. */
export function eventIn(history: History, type: string): Happening {
  const found = history.entries.find(({ event }) => event.type === type);
  if (found === undefined) throw new Error(`there is no ${type}`);
  return found;
}
