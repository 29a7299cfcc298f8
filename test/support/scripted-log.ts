import { AppendError } from '../../services/chassis/log/append-error.ts';
import type {
  AppendFailure,
  Bounds,
  LogPort,
  LogRecord,
  Membership,
  MembershipHandlers,
  OutgoingRecord,
  PartitionName,
  Reader,
  ReaderHandlers,
  Refusal,
} from '../../services/chassis/log/port.ts';

/** An append that waits for the test to say what became of it. */
export type ScriptedAppend = Readonly<{
  at: PartitionName;
  records: readonly OutgoingRecord[];
  acknowledge(baseOffset: number): void;
  /** `refused`: not allowed. */
  fail(failure: AppendFailure | Refusal): void;
}>;

/** A log whose answers and deliveries a test writes, one by one. */
export class ScriptedLog implements LogPort {
  readonly appends: ScriptedAppend[] = [];
  /** Each time that somebody paused or resumed a partition. */
  readonly flow: ('pause' | 'resume')[] = [];
  private readonly readers: ReaderHandlers[] = [];
  private readonly members: MembershipHandlers[] = [];
  private readonly high = new Map<string, number>();

  append(at: PartitionName, records: readonly OutgoingRecord[]): Promise<{ baseOffset: number }> {
    return new Promise((resolve, reject) => {
      this.appends.push({
        at,
        records,
        acknowledge: (baseOffset) => resolve({ baseOffset }),
        fail: (failure) => {
          const known = failure === 'refused' ? 'not-allowed' : failure;
          reject(new AppendError(known, `scripted: ${failure}`));
        },
      });
    });
  }

  async reader(handlers: ReaderHandlers): Promise<Reader> {
    this.readers.push(handlers);
    const nothing = (): void => undefined;
    const close = async (): Promise<void> => undefined;
    const pause = (): void => void this.flow.push('pause');
    const resume = (): void => void this.flow.push('resume');
    return { assign: nothing, unassign: nothing, pause, resume, close };
  }

  /** Hands records to every reader, as their topic would. */
  deliver(at: PartitionName, records: readonly Partial<LogRecord>[]): void {
    const whole = records.map((record, index) => {
      const offset = (this.high.get(at.topic) ?? 0) + index;
      return { ...at, offset, key: '', headers: {}, value: null, timestampMs: 0, ...record };
    });
    const last = whole.at(-1);
    if (last !== undefined) this.high.set(at.topic, last.offset + 1);
    for (const handlers of this.readers) handlers.onRecords(at, whole);
  }

  /** What `bounds` says the end of a topic is. */
  grow(topic: string, high: number): void {
    this.high.set(topic, high);
  }

  async bounds(topic: string): Promise<ReadonlyMap<number, Bounds>> {
    return new Map([[0, { low: 0, high: this.high.get(topic) ?? 0 }]]);
  }

  async join(
    _group: string,
    _topics: readonly string[],
    handlers: MembershipHandlers,
  ): Promise<Membership> {
    this.members.push(handlers);
    const commit = async (): Promise<void> => undefined;
    return { commit, leave: commit };
  }

  /** The group gives every member these partitions. */
  assign(partitions: readonly PartitionName[]): void {
    for (const { onAssignment } of this.members) onAssignment(partitions);
  }

  async topicId(): Promise<string | undefined> {
    return undefined;
  }

  async offsetAt(): Promise<number> {
    return 0;
  }

  async ensureTopics(): Promise<void> {}

  async trim(): Promise<void> {}

  async close(): Promise<void> {}
}

/** Lets every promise that can resolve now resolve. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
