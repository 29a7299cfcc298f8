/** What stands still in the log, for `status` and `doctor`. */

import type { Check } from '../../../deploy/local/doctor.ts';
import { LongreinError } from '../../chassis/errors.ts';
import type { Trouble } from './log-state.ts';
import type { Environment } from './terminal.ts';

/** Reads it from the log; nothing where no host has made the topics yet. The broker must be there. */
export async function readTroubles(
  environment: Environment,
  nowMs: number,
): Promise<readonly Trouble[]> {
  const { withLog } = await import('./log-client.ts');
  const { readLogState } = await import('./log-state.ts');
  try {
    return (await withLog(environment, (log) => readLogState(log, nowMs))).troubles;
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'STACK_EMPTY') return [];
    throw thrown;
  }
}

/** What `doctor` says of each; all is well where nothing stands still. */
export function checksOf(troubles: readonly Trouble[]): Check[] {
  if (troubles.length === 0) return [{ name: 'log', ok: true, detail: 'nothing stands still' }];
  return troubles.map((trouble) => {
    const { where, fix, stops } = trouble;
    return { name: where, ok: !stops, detail: troubleText(trouble), fix };
  });
}

/** One line of what is wrong, without what mends it. */
export function troubleText({ code, message, host, sinceMs }: Trouble): string {
  const on = host === undefined ? '' : `, on ${host}`;
  const since = sinceMs === undefined ? '' : `, since ${new Date(sinceMs).toISOString()}`;
  return `${message} [${code}${on}${since}]`;
}
