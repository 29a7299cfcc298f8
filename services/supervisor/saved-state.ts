/**
 * The state as checkpoints hold it: what is kept as pairs in memory is a plain record there, as it was in fold 1.
 */

import type { JsonValue } from '../../schemas/json.ts';
import { membersOf, pairsOf } from '../chassis/effects/sorted-pairs.ts';
import type { SupervisorState } from './state.ts';

type SavedState = Omit<SupervisorState, 'timers' | 'living'> &
  Readonly<{
    timers: Readonly<Record<string, number>>;
    living: Readonly<Record<string, string>>;
  }>;

export function downcastState({ timers, living, ...state }: SupervisorState): JsonValue {
  const saved: SavedState = { ...state, timers: membersOf(timers), living: membersOf(living) };
  return saved as unknown as JsonValue;
}

export function upcastState(state: JsonValue): SupervisorState {
  const { timers, living, ...saved } = state as unknown as SavedState;
  return { ...saved, timers: pairsOf(timers), living: pairsOf(living) };
}
