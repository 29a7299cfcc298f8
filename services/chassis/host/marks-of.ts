import { ablated } from '../ablation.ts';
import type { PartitionName } from '../log/port.ts';
import { carryStretch } from './checkpoints.ts';
import type { IgnoredRecords } from './ignored-records.ts';
import type { PartitionLog } from './partition-log.ts';
import type { SessionTable } from './session-table.ts';
import type { Watermark } from './watermarks.ts';

/** The marks of these services at a place of the log: what each of them needs again after a restart (DESIGN 3.11). */
export function marksOf(
  { topic, partition }: PartitionName,
  services: readonly string[],
  {
    log,
    table,
    ignored,
  }: {
    log: PartitionLog;
    table: SessionTable;
    ignored: Pick<IgnoredRecords, 'keeper' | 'firstUnsent'>;
  },
): readonly Watermark[] {
  const { expected } = log;
  const stretch = carryStretch(table.seats);
  const ahead = { offset: expected, session: undefined };
  return services.map((service) => {
    const ofSessions = ablated('11b') ? ahead : table.holderOf(service, expected);
    const first = service === ignored.keeper ? ignored.firstUnsent : expected;
    const needed = first < ofSessions.offset ? { ...ahead, offset: first } : ofSessions;
    const { offset, acceptance } = log.history.atOrBefore(needed.offset);
    const held = needed.session === undefined ? {} : { heldBy: needed.session, stretch };
    const at = { service, topic, partition, offset, ...held };
    return { ...at, acceptance: ablated('11c') ? {} : acceptance };
  });
}
