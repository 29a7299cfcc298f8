/**
 * What all sources of a process may hold together before those that have something to store read no
 * further.
 */
const rowsMax = 50_000;
const bytesMax = 64 * 1024 * 1024;

type Load = Readonly<{ rows: number; bytes: number }>;

export type MemoryBudget = Readonly<{
  /** Sets what this holder holds now. */
  hold(holder: Holder, load: Load): void;
  readonly isOver: boolean;
}>;

/** Somebody who reads no further while the budget is over. */
export type Holder = Readonly<{ lookAgain(): void }>;

export function createMemoryBudget(): MemoryBudget {
  const held = new Map<Holder, Load>();
  let rows = 0;
  let bytes = 0;
  const isOver = (): boolean => rows > rowsMax || bytes > bytesMax;
  return {
    hold(holder, load) {
      const before = held.get(holder) ?? { rows: 0, bytes: 0 };
      const wasOver = isOver();
      rows += load.rows - before.rows;
      bytes += load.bytes - before.bytes;
      if (load.rows === 0 && load.bytes === 0) held.delete(holder);
      else held.set(holder, load);
      if (wasOver && !isOver()) for (const one of [...held.keys()]) one.lookAgain();
    },
    get isOver() {
      return isOver();
    },
  };
}
