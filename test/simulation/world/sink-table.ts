import { LongreinError } from '../../../services/chassis/errors.ts';
import type { EventTable } from '../../../services/event-store/clickhouse.ts';
import { addressOf, type EventRow } from '../../../services/event-store/row.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import { type Coverage, note } from './coverage.ts';
import { type Dice, diceOf } from './dice.ts';
import type { Network } from './network.ts';
import { gated, type Process } from './process.ts';

/** A row as the table has it: how often, and whether it counts. */
export type StoredRow = { count: number; effective: boolean };

const shown = (rows: readonly EventRow[]): string =>
  rows.map((row) => `${addressOf(row)}${row.effective ? '+' : '-'}`).join(' ');

/**
 * The table of a database that all event stores of a world write to. Like the real one it drops a token that it
 * knows; it may be away, and take rows without its answer arriving.
 */
export class SinkTable {
  readonly rows = new Map<string, StoredRow>();
  /** Tokens that came again with other rows: the database would have lost them without a word. */
  readonly conflicts: string[] = [];
  /** Records of which a row is there, by `topic/partition`. */
  readonly records = new Map<string, Set<number>>();
  readonly #tokens = new Map<string, string>();
  readonly #parts: Readonly<{ clock: VirtualClock; network: Network; coverage: Coverage }>;
  readonly #dice: Dice;

  constructor(seed: number, parts: { clock: VirtualClock; network: Network; coverage: Coverage }) {
    this.#parts = parts;
    this.#dice = diceOf('sink', seed);
  }

  /** As one process sees it. */
  of(process: Process): EventTable {
    return {
      insertBatch: (rows, token) => gated(process, this.#insert(rows, token)),
      // What this one takes for stored, it has.
      restoreLost: () => gated(process, Promise.resolve(0)),
    };
  }

  async #insert(rows: readonly EventRow[], token: string): Promise<void> {
    const { calm } = this.#parts.network;
    const fate = calm ? 1 : this.#dice.fraction();
    await this.#wait(fate < 0.25 ? this.#dice.between(200, 3_000) : this.#dice.between(1, 20));
    if (fate < 0.1) this.#away('fault sink away');
    this.#store(rows, token);
    if (fate < 0.2) this.#away('fault sink answer lost');
    if (fate < 0.25) note(this.#parts.coverage, 'fault sink slow');
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.clock.after(delayMs, resolve);
    });
  }

  #away(kind: string): never {
    note(this.#parts.coverage, kind);
    throw new LongreinError('EVENT_STORE_UNREACHABLE', 'the database is away', { retryable: true });
  }

  #store(rows: readonly EventRow[], token: string): void {
    const before = this.#tokens.get(token);
    if (before !== undefined) {
      note(this.#parts.coverage, 'sink range stored again');
      if (before !== shown(rows)) this.conflicts.push(token);
      return;
    }
    this.#tokens.set(token, shown(rows));
    for (const row of rows) this.#add(row);
  }

  #add(row: EventRow): void {
    const address = addressOf(row);
    const count = (this.rows.get(address)?.count ?? 0) + 1;
    this.rows.set(address, { count, effective: row.effective });
    const name = `${row.topic}/${row.partition}`;
    const records = this.records.get(name) ?? new Set();
    this.records.set(name, records.add(row.offset));
  }
}
