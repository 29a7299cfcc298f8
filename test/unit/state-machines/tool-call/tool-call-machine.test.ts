import { describe, expect, test } from 'vitest';
import type { Persisted } from '../../../../state-machines/fold.ts';
import {
  claimsOf,
  isCancelled,
  type ToolCallMachineEvent,
  toolCallFold,
} from '../../../../state-machines/tool-call/tool-call-machine.ts';

const claim = (attempt: number): ToolCallMachineEvent => ({ type: 'tool.claimed', attempt });
const all: readonly ToolCallMachineEvent[] = [
  { type: 'tool.permitted' },
  { type: 'tool.denied' },
  claim(1),
  claim(2),
  claim(3),
  { type: 'tool.completed' },
  { type: 'tool.failed' },
  { type: 'tool.unknown' },
  { type: 'call.cancelled' },
];

function from(...events: ToolCallMachineEvent[]): Persisted {
  return events.reduce((state, event) => toolCallFold.next(state, event), toolCallFold.initial());
}

function walk(): Persisted[] {
  const seen = new Map<string, Persisted>();
  const waiting = [toolCallFold.initial()];
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    const key = JSON.stringify(state);
    if (seen.has(key)) continue;
    seen.set(key, state);
    for (const event of all) waiting.push(toolCallFold.next(state, event));
  }
  return [...seen.values()];
}

/** Which events move a call in which state; everything else is refused. */
const moves: Readonly<Record<string, readonly string[]>> = {
  requested: ['tool.permitted', 'tool.denied', 'call.cancelled'],
  permitted: ['tool.claimed', 'call.cancelled'],
  claimed: ['tool.claimed', 'tool.completed', 'tool.failed', 'tool.unknown', 'call.cancelled'],
  cancelled: ['tool.claimed'],
  unknown: ['tool.completed', 'tool.failed'],
  denied: [],
  completed: [],
  failed: [],
  'settled-late': [],
};

describe('the tool call machine', () => {
  test('reaches exactly the states of a call, and moves only as they allow', () => {
    const states = walk();
    expect(new Set(states.map((state) => state.value))).toEqual(new Set(Object.keys(moves)));
    for (const state of states) {
      for (const event of all) {
        const moved = toolCallFold.next(state, event) !== state;
        if (moved) expect(moves[state.value]).toContain(event.type);
      }
    }
  });

  test('is over exactly where nothing can follow', () => {
    for (const { value, done } of walk()) expect(done).toBe(moves[value]?.length === 0);
  });

  test('takes the first outcome and refuses the next, also after a second claim', () => {
    const claimed = from({ type: 'tool.permitted' }, claim(1), claim(2));
    expect(claimsOf(claimed)).toBe(2);
    const done = toolCallFold.next(claimed, { type: 'tool.completed' });
    expect(done.value).toBe('completed');
    expect(toolCallFold.next(done, { type: 'tool.failed' })).toBe(done);
  });

  test('refuses a claim that is not newer', () => {
    const claimed = from({ type: 'tool.permitted' }, claim(2));
    expect(toolCallFold.next(claimed, claim(2))).toBe(claimed);
    expect(toolCallFold.next(claimed, claim(1))).toBe(claimed);
  });

  test('settles an unknown call by an outcome that arrives after all', () => {
    const unknown = from({ type: 'tool.permitted' }, claim(1), { type: 'tool.unknown' });
    expect(toolCallFold.next(unknown, { type: 'tool.failed' }).value).toBe('settled-late');
  });

  test('keeps a claim that was on its way when the cancel came, as one that is not wanted', () => {
    const stray = from({ type: 'tool.permitted' }, { type: 'call.cancelled' }, claim(1));
    expect(stray.value).toBe('claimed');
    expect(isCancelled(stray)).toBe(true);
  });
});
