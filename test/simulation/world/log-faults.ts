import type { MemoryCluster } from '../../../services/chassis/log/memory/memory-cluster.ts';
import type { LogRecord, PartitionName } from '../../../services/chassis/log/port.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import type { Archive } from './archive.ts';
import { type Coverage, note } from './coverage.ts';
import { type Dice, diceOf } from './dice.ts';
import { logTopics, outsider } from './network.ts';
import { type StrangeKind, strangeRecord } from './strange-records.ts';

const kindOf = ({ headers }: LogRecord): string => headers['lr_kind'] ?? '';

/** What others write into session logs: requests that were long under way, and what is none of ours. */
export class LogFaults {
  /** Records that nobody can read: `topic/partition@offset`. */
  readonly poisoned = new Set<string>();
  readonly #cluster: MemoryCluster;
  readonly #archive: Archive;
  readonly #coverage: Coverage;
  readonly #dice: Dice;
  #strange = 0;

  constructor(
    seed: number,
    parts: { cluster: MemoryCluster; archive: Archive; coverage: Coverage },
  ) {
    this.#cluster = parts.cluster;
    this.#archive = parts.archive;
    this.#coverage = parts.coverage;
    this.#dice = diceOf('log faults', seed);
  }

  /** Records of a partition are written once more, byte for byte. */
  echo(where: number, count: number): void {
    const known = this.#readable(this.#chosen(where));
    for (let i = 0; i < count && known.length > 0; i++) this.#again(this.#dice.pick(known));
  }

  /** Records of one session come again, after a while. */
  echoSession(session: string, clock: VirtualClock): void {
    for (const at of this.#partitions()) {
      const own = this.#readable(at).filter(({ key }) => key === session);
      for (const record of own) {
        if (!this.#dice.chance(5 / own.length)) continue;
        clock.after(this.#dice.between(0, 1_500), () => this.#again(record));
      }
    }
  }

  strange(where: number, kind: StrangeKind): void {
    const at = this.#chosen(where);
    const inputs = this.#readable(at).filter((record) => kindOf(record) === 'input');
    this.#strange += 1;
    const record = strangeRecord(kind, `inp_strange_${this.#strange}`, inputs.at(-1));
    note(this.#coverage, `fault ${kind}`);
    const written = this.#cluster.connect(outsider).append(at, [record]);
    const remember = ({ baseOffset }: { baseOffset: number }): void => {
      this.poisoned.add(`${at.topic}/${at.partition}@${baseOffset}`);
    };
    written.then(remember, () => undefined);
  }

  #again({ topic, partition, key, headers, value }: LogRecord): void {
    note(this.#coverage, `fault repeated ${headers['lr_kind']}`);
    const record = { key, headers, value };
    const written = this.#cluster.connect(outsider).append({ topic, partition }, [record]);
    written.catch(() => undefined);
  }

  #readable(at: PartitionName): readonly LogRecord[] {
    // A request may have been under way for longer than its first copy was kept.
    const own = this.#archive.records(at);
    return own.filter(
      (record) =>
        kindOf(record) !== '' && !(record.headers['ce_id'] ?? '').startsWith('inp_strange_'),
    );
  }

  #partitions(): PartitionName[] {
    return logTopics.flatMap((topic) =>
      this.#cluster.topics.get(topic).partitions.map((_, partition) => ({ topic, partition })),
    );
  }

  #chosen(where: number): PartitionName {
    const all = this.#partitions().filter((at) => this.#archive.records(at).length > 0);
    const found = all[Math.floor(where * all.length)];
    return found ?? { topic: logTopics[0] ?? '', partition: 0 };
  }
}
