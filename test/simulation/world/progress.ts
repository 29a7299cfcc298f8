import type { LogRecord } from '../../../services/chassis/log/port.ts';
import { type AcceptanceState, accept } from '../../../services/chassis/protocol/acceptance.ts';
import { parseHeader, type RecordHeader } from '../../../services/chassis/protocol/record.ts';

const openings: ReadonlySet<string> = new Set(['session.opened', 'goal.received']);

/** Which sessions are open, from headers alone and bit by bit: asked often, so it must be cheap. */
export class Progress {
  readonly #open = new Set<string>();
  readonly #closed = new Set<string>();
  readonly #acceptance = new Map<string, AcceptanceState>();
  readonly #read = new Map<string, number>();

  /** Takes what is new in a partition. */
  take(name: string, records: readonly LogRecord[]): void {
    const acceptance = this.#acceptance.get(name) ?? {};
    this.#acceptance.set(name, acceptance);
    for (const { headers } of records.slice(this.#read.get(name) ?? 0)) {
      const header = parseHeader(headers);
      if (header !== undefined && accept(acceptance, header)) this.#note(header);
    }
    this.#read.set(name, records.length);
  }

  #note({ kind, session, types }: RecordHeader): void {
    if (kind === 'input' && types.some((type) => openings.has(type)) && !this.#closed.has(session))
      this.#open.add(session);
    if (kind !== 'turn' || !types.includes('session.closed')) return;
    this.#open.delete(session);
    this.#closed.add(session);
  }

  get openCount(): number {
    return this.#open.size;
  }
}
