import type { JsonObject } from '../../../schemas/json.ts';
import { limits } from '../../../schemas/limits.ts';
import { deadLettersTopic, firstGeneration } from '../../../schemas/topics.ts';
import type { LogRecord, PartitionName } from '../log/port.ts';
import { deadLetterType, letterIdOf } from '../protocol/dead-letter.ts';
import type { Refused } from '../protocol/record.ts';
import type { Outlet } from './outlet.ts';
import type { HostedService, HostPorts } from './ports.ts';

export type IgnoredParts = Readonly<{
  at: PartitionName;
  ports: Pick<HostPorts, 'logger'>;
  outlet: Pick<Outlet, 'deliver'>;
  services: readonly Pick<HostedService, 'logic' | 'keepsLetters'>[];
  /** Whether this host acts for the service here. */
  owns: (service: string) => boolean;
}>;

/** Of a record of another program. */
export const foreignCode = 'RECORD_FOREIGN';

type Letter = { readonly record: LogRecord; readonly reason: Refused; sending: boolean };

/**
 * Records of a session log that are nobody's: of other programs, or with a body that nobody can read (DESIGN 3.14).
 * Every reader ignores them alike; one says so in a dead letter each.
 *
 * I1 A letter is written by the owner of the partition's keeper, and the keeper's watermark waits for it.
 * I2 Repeats of a letter (after a restart) are the same bytes.
 * I3 Of a flood of foreign records only the first get letters; all are counted.
 */
export class IgnoredRecords {
  count = 0;
  private foreign = 0;
  private hasForgone = false;
  private readonly parts: IgnoredParts;
  private readonly unsent = new Map<number, Letter>();
  /** The service of this host that writes the letters of the partition; undefined where another host's does. */
  readonly keeper: string | undefined;

  constructor(parts: IgnoredParts) {
    this.parts = parts;
    const topic = firstGeneration(parts.at.topic);
    this.keeper = parts.services.find((one) => one.keepsLetters?.includes(topic))?.logic.name;
  }

  note(record: LogRecord, reason: Refused): void {
    this.count += 1;
    const { keeper } = this;
    const { owns } = this.parts;
    if (keeper === undefined) return;
    const isFull = this.unsent.size >= limits.ignoredLettersMax;
    // Who does not own it reads along: the owner has long written the letters of what it read first.
    if (isFull && !owns(keeper)) this.unsent.delete(this.firstUnsent);
    else if (isFull || this.isFlood(reason)) {
      this.forgo(record);
      return;
    }
    this.unsent.set(record.offset, { record, reason, sending: false });
    this.send();
  }

  private isFlood({ code }: Refused): boolean {
    if (code !== foreignCode) return false;
    this.foreign += 1;
    return this.foreign > limits.ignoredLettersMax;
  }

  /** Said once: the others are in the count. */
  private forgo({ offset }: LogRecord): void {
    if (this.hasForgone) return;
    this.hasForgone = true;
    const { at, ports } = this.parts;
    const fix = 'find out who writes to the topic, and take the right away';
    ports.logger.warn(
      { ...at, offset, fix },
      'too many records that nobody reads: no dead letters',
    );
  }

  /** Sends what is due, if it is this host's to send. */
  send(): void {
    const { keeper } = this;
    if (keeper === undefined || !this.parts.owns(keeper)) return;
    for (const letter of this.unsent.values()) {
      if (letter.sending) continue;
      letter.sending = true;
      this.deliver(letter, keeper, true).catch(() => {
        letter.sending = false;
      });
    }
  }

  /** The first record whose letter is not written; the keeper's watermark stays there. */
  get firstUnsent(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...this.unsent.keys());
  }

  private async deliver(letter: Letter, keeper: string, whole: boolean): Promise<void> {
    const { record } = letter;
    const { at, outlet, owns, ports } = this.parts;
    const { topic, partition } = at;
    const type = deadLetterType;
    const id = letterIdOf({ topic, partition, offset: record.offset });
    const value = letterOf(record, letter.reason, whole);
    const session = record.headers['ce_subject'] || record.key || 'unknown';
    const sent = await outlet.deliver(
      { to: 'public', topic: deadLettersTopic, key: session, type, id, value },
      {
        event: { type: 'record ignored', atMs: record.timestampMs },
        ...{ service: keeper, traceparent: '', wanted: () => owns(keeper) },
        session: { session, tenant: '', principal: '', labels: {} },
      },
    );
    letter.sending = false;
    if (sent === 'unwanted') return;
    if (sent !== 'acknowledged' && whole) return this.deliver(letter, keeper, false);
    if (sent !== 'acknowledged')
      ports.logger.error({ ...at, offset: record.offset, ...sent.refused }, 'dead letter refused');
    this.unsent.delete(record.offset);
  }
}

function letterOf(record: LogRecord, reason: Refused, whole: boolean): JsonObject {
  const { topic, partition, offset, key, headers, value, timestampMs } = record;
  const fits = value !== null && value.length <= limits.recordBytesMax && whole;
  const subject = headers['ce_subject'] ?? '';
  const id = headers['ce_id'] ?? '';
  return {
    ...{ reason, origin: { topic, partition, offset } },
    ...(fits ? { original: Buffer.from(value).toString('base64') } : {}),
    ...(subject === '' ? {} : { session: subject.slice(0, 128) }),
    ...(id === '' ? {} : { record: id.slice(0, 128) }),
    ...{ key, headers, bytes: value?.length ?? 0, at: new Date(timestampMs).toISOString() },
  };
}
