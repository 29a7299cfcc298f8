import { limits } from '../../../schemas/limits.ts';
import type { RecordHeader, Refused } from '../protocol/record.ts';
import type { HostPorts } from './ports.ts';
import type { Slot } from './slot.ts';

/**
 * Turns of the host's own current epoch that did not count. One may meet a turn of another owner that it foresaw; a row
 * of them means that whatever the service decides here is void, and it would decide and append without end.
 */

/** A turn of ours was read back. Says so where that makes its service give up, and where not even that counts. */
export function noteTurn(
  slot: Slot,
  { service }: RecordHeader,
  counted: boolean,
  { logger }: Pick<HostPorts, 'logger'>,
): void {
  if (counted) {
    slot.voidTurns.delete(service);
    return;
  }
  const count = (slot.voidTurns.get(service) ?? 0) + 1;
  slot.voidTurns.set(service, count);
  const fields = { session: slot.session, service, count };
  if (count === limits.voidTurnsMax)
    logger.error(fields, 'turns do not count: the service gives up in this session');
  if (count === silentFrom)
    logger.error(fields, 'not even that counts: nothing is decided there until a restart');
}

const silentFrom = 2 * limits.voidTurnsMax;

/** Why a service does not decide in this session any more; `silent` where not even that counts. */
export function voidPoison(slot: Slot, service: string): Refused | 'silent' | undefined {
  const count = slot.voidTurns.get(service) ?? 0;
  if (count < limits.voidTurnsMax) return undefined;
  if (count >= silentFrom) return 'silent';
  const message = `${count} turns of ${service} in a row did not count, each under its current epoch`;
  return { code: 'TURN_VOID', message };
}
