import { limits } from '../../../schemas/limits.ts';
import type { OwnInput } from './cascade.ts';
import type { Turn } from './lane-turns.ts';
import type { Batch, PartitionWriter } from './writer.ts';

/**
 * Where a partition's own inputs go: outcomes and timers. An input goes out with all that it sets off where that can be
 * decided now, and else by itself, as inputs from outside come (DESIGN 3.5).
 */
export class FusingWriter implements Pick<PartitionWriter, 'push'> {
  private readonly writer: PartitionWriter;
  private readonly turn: Turn | undefined;
  private readonly fuse: (batch: Batch, input: OwnInput) => boolean;

  /** `fuse` answers false where the input has to go by itself. */
  constructor(
    { writer, turn }: Readonly<{ writer: PartitionWriter; turn?: Turn }>,
    fuse: (batch: Batch, input: OwnInput) => boolean,
  ) {
    this.writer = writer;
    this.turn = turn;
    this.fuse = fuse;
  }

  push(batch: Batch): void {
    const turn = this.turn?.(limits.laneDecisionCost);
    if (turn === undefined) this.pushNow(batch);
    else void turn.then(() => this.pushNow(batch));
  }

  private pushNow(batch: Batch): void {
    const [record, more] = batch.records;
    const isInput = record?.body.kind === 'input' && more === undefined;
    if (isInput && this.fuse(batch, record as OwnInput)) return;
    this.writer.push(batch);
  }
}
