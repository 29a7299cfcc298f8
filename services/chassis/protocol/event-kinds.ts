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
/** Events that claim a call: the writer's process alone may act on it (DESIGN 3.9). */
export const claimTypes: ReadonlySet<string> = new Set([
  'tool.claimed',
  'model.claimed',
  'range.fixed',
]);
