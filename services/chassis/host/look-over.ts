import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { Caution } from './caution.ts';
import type { Clock } from './ports.ts';
import type { SessionTable } from './session-table.ts';
import type { Settler } from './settle.ts';
import type { Timers } from './timers.ts';

type Parts = Readonly<{
  table: SessionTable;
  timers: Timers;
  settler: Settler;
  clock: Clock;
  settle(session: string): void;
  caution: Pick<Caution, 'hurries'>;
}>;

/** Sessions that are looked at before others get their turn. */
const slice = 100;
/** So long at most what stood still goes first, and how often it is looked whether it has been decided. */
const hurryMsMax = 2_000;
const lookMs = 20;

/**
 * Looks at every session of a partition that was just won, packed ones too: timers are armed, and what is due is decided.
 * In slices, so that heartbeats and what is read meanwhile do not wait behind thousands of them; and after those in which
 * something is known to be due.
 */
export function lookOver(sessions: readonly string[], parts: Parts): void {
  // Before anybody is in a hurry: who is decided first sends what is open.
  if (ablated('12c')) for (const one of sessions) parts.table.get(one)?.forgetDeliveries();
  const untilMs = parts.clock.nowMs() + hurryMsMax;
  const begin = (): void => {
    if (parts.caution.hurries && parts.clock.nowMs() < untilMs) parts.clock.after(lookMs, begin);
    else lookOverSlices(sessions, parts);
  };
  begin();
}

function lookOverSlices(sessions: readonly string[], parts: Parts): void {
  const { table, timers, settler, clock, settle } = parts;
  for (const session of sessions.slice(0, slice)) {
    const slot = table.get(session);
    if (slot === undefined) continue;
    timers.rearm(slot);
    if (ablated('7b')) slot.forgetCauses();
    else settler.kick(slot);
    settle(session);
    table.packWhenIdle(slot, clock.nowMs() - limits.sessionIdleMs);
  }
  if (sessions.length > slice) clock.after(0, () => lookOverSlices(sessions.slice(slice), parts));
}
