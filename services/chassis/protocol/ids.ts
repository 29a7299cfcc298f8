import { canonical, sha256 } from './hash.ts';

/** Ids are derived, never drawn: the same thing has the same id for everyone, for ever. 128 bits of SHA-256. */
function derive(prefix: string, parts: readonly (string | number)[]): string {
  return `${prefix}_${sha256(canonical(parts)).slice(0, 32)}`;
}

/** DESIGN 3.8: a session's id follows from who asks, where it came from and the goal's own id. */
export const sessionId = (tenant: string, source: string, goalId: string): string =>
  derive('ses', [tenant, source, goalId]);
/** The log that follows one goal from its arrival to its end. */
export const goalLogId = (session: string): string => `goal_${session}`;
/** The log that gives goals of one key their turns. */
export const keyLogId = (tenant: string, key: string): string => derive('key', [tenant, key]);
/** The log that lends a tenant's money of a day (DESIGN 7); a tenant with a long name is named by hash. */
export function budgetLogId(tenant: string, day: string): string {
  const id = `budget:${tenant}/${day}`;
  return id.length <= 120 ? id : `${derive('budget:tenant', [tenant])}/${day}`;
}
/** The log that shares out the places of a pool; a pool with a long name is named by hash. */
export const poolLogId = (pool: string): string =>
  pool.length <= 120 ? `pool:${pool}` : derive('pool', [pool]);
/** Input ids make repeats harmless: the first of an id counts. */
export const inputId = (session: string, identity: readonly (string | number)[]): string =>
  derive('inp', [session, ...identity]);
/** DESIGN 3.9: the outcome of a call under one claim. */
export const outcomeId = (call: string, claim: string): string =>
  derive('inp', ['outcome', call, claim]);
/** DESIGN 3.10: the firing of one setting of a timer. */
export const timerFiredId = (record: string, index: number): string =>
  derive('inp', ['timer', record, index]);
/** A call's id is the idempotency key that is handed to the other side. */
export const callId = (session: string, agent: string, count: number): string =>
  derive('call', [session, agent, count]);
export const messageId = (session: string, parts: readonly (string | number)[]): string =>
  derive('msg', [session, ...parts]);
