import { sessionId } from '../chassis/protocol/ids.ts';

/**
 * What names a goal: its session (`ses_…`), its own id, or the id with the tenant and the `ce_source` that it was
 * published with.
 */
export type GoalName = string | Readonly<{ goalId: string; tenant?: string; source?: string }>;

/** The session that follows from the name of its goal. */
export function sessionOf(of: GoalName): string {
  if (typeof of !== 'string') return sessionId(of.tenant ?? 'default', of.source ?? '', of.goalId);
  return of.startsWith('ses_') ? of : sessionId('default', '', of);
}
