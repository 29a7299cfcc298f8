import { LongreinError } from '../errors.ts';
import type { PartitionName } from '../log/port.ts';
import { giveUpCommand } from './mending.ts';
import type { HostPorts } from './ports.ts';

/** Why a partition is not worked on, as people read it. */
export type Halt = Readonly<{
  code: string;
  message: string;
  /** What mends it: by itself, or the command for a person. */
  fix: string;
  sinceMs: number;
}>;

type Entry = { halt: Halt; tries: number; cancel: () => void };

const firstWaitMs = 2_000;
const longestWaitMs = 60_000;
/** Brokers that are away or between two leaders come back by themselves, and work waits for them. */
const retryableWaitMs = 4_000;

/** What is known to mend itself. All others wait for a person. */
const mendsItself: ReadonlyMap<string, string> = new Map([
  ['OFFSET_OUT_OF_RANGE', 'nothing: the partition is read again from its watermark or trim'],
  ['PARTITION_STOPPED', 'nothing: the partition is read again when what runs for it has ended'],
]);

/**
 * Partitions that stopped, each with its reason (DESIGN 3.13). All are looked at again with back-off: what is mended,
 * by itself or by a person, is worked on without a restart. A look starts from the watermarks and makes every check
 * again, so it never passes over what is wrong.
 */
export class Halts {
  private readonly entries = new Map<string, Entry>();
  private readonly ports: Pick<HostPorts, 'clock' | 'logger' | 'figures'>;
  private readonly again: (at: PartitionName) => void;

  constructor(
    ports: Pick<HostPorts, 'clock' | 'logger' | 'figures'>,
    again: (at: PartitionName) => void,
  ) {
    this.ports = ports;
    this.again = again;
  }

  /** The partition stopped: says so once for each reason, and looks again later. */
  add(at: PartitionName, error: Error): void {
    const name = nameOf(at);
    const known = this.entries.get(name);
    known?.cancel();
    const halt = haltOf(at, error, this.ports.clock.nowMs());
    const same = known !== undefined && known.halt.code === halt.code;
    const fields = { ...at, code: halt.code, error: halt.message, fix: halt.fix };
    if (!same) {
      this.ports.logger.error(fields, 'partition stopped');
      this.ports.figures?.notRehydrated();
    }
    const tries = (known?.tries ?? 0) + 1;
    const mostMs =
      error instanceof LongreinError && error.retryable ? retryableWaitMs : longestWaitMs;
    const waitMs = Math.min(mostMs, firstWaitMs * 2 ** Math.min(tries - 1, 10));
    const cancel = this.ports.clock.after(waitMs, () => this.again(at));
    this.entries.set(name, {
      halt: same ? { ...halt, sinceMs: known.halt.sinceMs } : halt,
      tries,
      cancel,
    });
  }

  /** It is worked on again, or no business of this host any more. */
  remove(at: PartitionName): void {
    const known = this.entries.get(nameOf(at));
    if (known === undefined) return;
    known.cancel();
    this.entries.delete(nameOf(at));
  }

  /** Looks again a little later, without counting this as a try. */
  later(at: PartitionName): void {
    const known = this.entries.get(nameOf(at));
    if (known === undefined) return;
    known.cancel();
    known.cancel = this.ports.clock.after(firstWaitMs, () => this.again(at));
  }

  has(at: PartitionName): boolean {
    return this.entries.has(nameOf(at));
  }

  /** `topic/partition` -> why it stands still. */
  all(): Readonly<Record<string, Halt>> {
    return Object.fromEntries([...this.entries].map(([name, { halt }]) => [name, halt]));
  }

  stop(): void {
    for (const { cancel } of this.entries.values()) cancel();
    this.entries.clear();
  }
}

const nameOf = ({ topic, partition }: PartitionName): string => `${topic}/${partition}`;

function haltOf(at: PartitionName, error: Error, sinceMs: number): Halt {
  const known = error instanceof LongreinError ? error : undefined;
  const code = known?.code ?? 'PARTITION_FAILED';
  return { code, message: error.message, fix: fixOf(at, code, known?.fix), sinceMs };
}

function fixOf(at: PartitionName, code: string, said: string | undefined): string {
  const lost = `if all that is there may be lost: ${giveUpCommand(at)}`;
  if (code === 'TOPIC_UNKNOWN') return missing(at);
  // What the broker is told now does not change what it has.
  if (code === 'RECORDS_UNREADABLE' && said !== undefined)
    return `${said} What it has stays so; ${lost}`;
  return mendsItself.get(code) ?? said ?? `look at the log of this host; ${lost}`;
}

const missing = ({ topic }: PartitionName): string =>
  `restore ${topic} from a backup under its name; if it may be lost: longrein topics reset ${topic} --reason "WHY", which makes it anew`;
