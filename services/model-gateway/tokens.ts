/**
 * Tells who watches what models say while they say it, on a topic beside the logs. Nothing counts before the outcome,
 * which has the whole answer; so what cannot be written at once is dropped, and `at` shows that it was.
 */

import type { ModelTokens } from '../../schemas/tokens.ts';
import { tokensTopic } from '../../schemas/topics.ts';
import { toError } from '../chassis/errors.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import { partitionOf } from '../chassis/log/partition.ts';
import type { OutgoingRecord } from '../chassis/log/port.ts';

/** Pieces of so long go out together. */
const flushMs = 100;
/** More than that waits only where the broker is away. */
const waitingCharactersMax = 16_384;

type Piece = Omit<ModelTokens, 'at' | 'text'>;
type Ports = Pick<HostPorts, 'log' | 'clock' | 'logger' | 'keys'>;
type Waiting = { readonly piece: Piece; at: number; text: string };

const recordOf = ({ piece, at, text }: Waiting): OutgoingRecord => ({
  key: piece.session,
  headers: { 'content-type': 'application/json', ce_type: 'longrein.tokens.v1' },
  value: Buffer.from(JSON.stringify({ ...piece, at, text } satisfies ModelTokens)),
});

function skip(one: Waiting): void {
  one.at += one.text.length;
  one.text = '';
}

export class TokenChannel {
  private readonly ports: Ports;
  private readonly waiting = new Set<Waiting>();
  private partitions: number | undefined;
  /** A flush is set or under way. */
  private due = false;
  private complained = false;

  constructor(ports: Ports) {
    this.ports = ports;
  }

  /** Takes the text of one try as it comes; of a sealed session nobody is told. */
  listener(piece: Piece): (text: string) => void {
    // The topic stands open, and what a sealed session says does not.
    if (this.ports.keys?.isSealed(piece.session) === true) return () => undefined;
    const own: Waiting = { piece, at: 0, text: '' };
    return (text) => {
      if (text === '') return;
      if (own.text.length + text.length > waitingCharactersMax) skip(own);
      own.text += text;
      this.waiting.add(own);
      this.setTimer();
    };
  }

  private setTimer(): void {
    if (this.due) return;
    this.due = true;
    this.ports.clock.after(flushMs, () => void this.flush());
  }

  private async flush(): Promise<void> {
    const { log } = this.ports;
    try {
      this.partitions ??= (await log.bounds(tokensTopic)).size;
      const ready = this.taken(this.partitions);
      await Promise.all(
        [...ready].map(([partition, records]) =>
          log.append({ topic: tokensTopic, partition }, records),
        ),
      );
      this.complained = false;
    } catch (thrown) {
      this.complain(toError(thrown));
    }
    this.due = false;
    if (this.waiting.size > 0) this.setTimer();
  }

  /** By partition. What is taken is gone, whatever becomes of it. */
  private taken(partitions: number): ReadonlyMap<number, readonly OutgoingRecord[]> {
    const ready = new Map<number, OutgoingRecord[]>();
    for (const one of this.waiting) {
      const partition = partitionOf(one.piece.session, partitions);
      ready.set(partition, [...(ready.get(partition) ?? []), recordOf(one)]);
      skip(one);
    }
    this.waiting.clear();
    return ready;
  }

  private complain({ message }: Error): void {
    if (!this.complained)
      this.ports.logger.warn({ error: message }, 'followers do not see what models say meanwhile');
    this.complained = true;
  }
}
