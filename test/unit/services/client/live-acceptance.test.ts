import { describe, expect, it } from 'vitest';
import type { AcceptanceState } from '../../../../services/chassis/protocol/acceptance.ts';
import { parseHeader } from '../../../../services/chassis/protocol/record.ts';
import { acceptLive } from '../../../../services/client/live-acceptance.ts';

function turn(epoch: number, incarnation: string, sequence: number) {
  const header = parseHeader({
    lr_kind: 'turn',
    lr_service: 'planner',
    lr_epoch: String(epoch),
    lr_incarnation: incarnation,
    lr_sequence: String(sequence),
  });
  if (header === undefined) throw new Error('not a header');
  return header;
}

function acceptAll(...headers: ReturnType<typeof turn>[]): boolean[] {
  const state: AcceptanceState = {};
  return headers.map((header) => acceptLive(state, header));
}

describe('acceptance from the middle of a partition', () => {
  it('begins with the first turn of a service and goes on by the rule', () => {
    expect(acceptAll(turn(3, 'a', 17), turn(3, 'a', 18), turn(3, 'a', 18))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('takes a newer owner whose epoch it has not read, and then refuses the older one', () => {
    expect(acceptAll(turn(3, 'a', 17), turn(4, 'b', 1), turn(3, 'a', 18))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('refuses another process under the same epoch', () => {
    expect(acceptAll(turn(3, 'a', 17), turn(3, 'b', 18))).toEqual([true, false]);
  });
});
