import { goalsTopic } from '../../schemas/topics.ts';
import type { LogPort } from '../chassis/log/port.ts';
import type { GoalName } from './goal-name.ts';
import { type Published, publish } from './publish.ts';

export type CancelOptions = Readonly<{
  /** Why; it stands in the log. */
  reason?: string;
  /** Session id of a child: it alone is to stop, and the goal goes on. */
  child?: string;
  /** Who asks. */
  requestedBy?: string;
}>;

/** Asks that a goal stop. A cancel that comes before its goal is kept for it. */
export function publishCancel(
  log: LogPort,
  of: GoalName,
  { reason, child, requestedBy = 'client' }: CancelOptions,
): Promise<Published> {
  const { goalId, tenant, source } = typeof of === 'string' ? { goalId: of } : of;
  const body = {
    cancel: goalId,
    requestedBy,
    ...(tenant === undefined ? {} : { tenant }),
    ...(source === undefined ? {} : { source }),
    ...(reason === undefined ? {} : { reason }),
    ...(child === undefined ? {} : { child }),
  };
  const headers = { ce_specversion: '1.0', ce_type: 'longrein.goal-cancel.v1' };
  return publish(log, goalsTopic, { key: goalId, headers, body });
}
