/** Events that the rules of the log themselves know. */

/** What opens a session. */
export const openings: ReadonlySet<string> = new Set([
  'session.opened',
  'session.forked',
  'goal.received',
  'key.requested',
  'tranche.requested',
  'slot.requested',
  'sink.opened',
]);
export const cancels: ReadonlySet<string> = new Set([
  'session.cancel-requested',
  'goal.cancel-received',
]);
/** How a call ended, whoever writes it. */
export const outcomes: ReadonlySet<string> = new Set([
  'tool.completed',
  'tool.failed',
  'model.completed',
  'model.failed',
  'model.attempt-failed',
  'range.stored',
]);
/**
 * Price version of an answer that a rehearsal repeats out of a record. Decisions go by the money that stands beside it, as
 * they did; whoever adds money up counts none.
 */
export const replayedPrice = 'replayed';
/** Events that claim a call: the writer's process alone may act on it (DESIGN 3.9). */
export const claimTypes: ReadonlySet<string> = new Set([
  'tool.claimed',
  'model.claimed',
  'range.fixed',
]);
