import { resultsTopic } from '../../../schemas/topics.ts';
import { createFixedCodec } from '../../../services/chassis/log/codec.ts';
import type { OutgoingRecord, PartitionName } from '../../../services/chassis/log/port.ts';
import { diceOf } from './dice.ts';

const codec = createFixedCodec();

/** One that says who took the goal is always small. */
function isLarge({ value }: OutgoingRecord): boolean {
  if (value === null) return false;
  const { status, takenBy } = codec.decode(value).body as { status?: unknown; takenBy?: unknown };
  return status === 'completed' && takenBy === undefined;
}

/**
 * What the broker of a run takes never, as a real one does with what is too large: it says the same of the same record
 * for ever, whoever sends it. Of some sessions that is the opening, of some the result of a completed one, of some goals
 * what is to wake a loop; what stands in for them is small.
 */
export function createHopeless(seed: number, share: number) {
  const chosen = new Map<string, 'opening' | 'result' | undefined>();
  const fateOf = (session: string): 'opening' | 'result' | undefined => {
    if (chosen.has(session)) return chosen.get(session);
    const dice = diceOf('hopeless', seed, session);
    const fate = dice.chance(share)
      ? dice.pick(['opening', 'result', 'result'] as const)
      : undefined;
    chosen.set(session, fate);
    return fate;
  };
  const isHopeless = ({ topic }: PartitionName, record: OutgoingRecord): boolean => {
    if (topic === resultsTopic) return fateOf(record.key) === 'result' && isLarge(record);
    if (record.headers['lr_types'] === 'session.woken')
      return diceOf('hopeless', seed, record.headers['ce_id'] ?? '').chance(share);
    const opens = record.headers['lr_types'] === 'session.opened';
    return opens && fateOf(record.headers['ce_subject'] ?? '') === 'opening';
  };
  return (at: PartitionName, records: readonly OutgoingRecord[]): boolean =>
    records.some((record) => isHopeless(at, record));
}
