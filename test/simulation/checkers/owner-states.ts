import { addressOf } from '../../../services/chassis/protocol/service-logic.ts';
import type { History } from '../world/history.ts';
import { type PartitionSeen, type SeatSeen, stateHash } from '../world/probe.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'what a host holds in memory equals the fold of the log up to its position';

function checkSeat(history: History, seen: PartitionSeen, seat: SeatSeen): string | undefined {
  const entry = history.entryBefore(seat, seen.position);
  if (entry === undefined) return 'the log knows no such session';
  if (stateHash(entry) !== seat.state) return 'its state is another';
  const open = new Set(entry.causes.map(({ event }) => addressOf(event)));
  const strange = seat.causes.filter((cause) => !open.has(cause));
  return strange.length === 0
    ? undefined
    : `it holds causes that were answered: ${strange.join(', ')}`;
}

/** Sessions that are open at that place must be held by every service of the host. */
function missingSeats(history: History, seen: PartitionSeen): string[] {
  const held = new Set(seen.seats.map(({ service, session }) => `${service} ${session}`));
  return [...history.sessions.values()]
    .filter(({ topic, partition }) => topic === seen.topic && partition === seen.partition)
    .filter(({ session }) => history.coreBefore(session, seen.position)?.status === 'open')
    .flatMap(({ session }) =>
      seen.services
        .filter((service) => !held.has(`${service} ${session}`))
        .map((service) => `${service} does not know the open session ${session}`),
    );
}

export const ownerStates: Checker = ({ history, seen }) => {
  const found: Violation[] = [];
  for (const one of seen) {
    const at = `${one.host} at ${one.topic}/${one.partition}@${one.position}`;
    for (const seat of one.seats) {
      const wrong = checkSeat(history, one, seat);
      if (wrong !== undefined)
        found.push({ rule, detail: `${at}, ${seat.service} in ${seat.session}: ${wrong}` });
    }
    for (const detail of missingSeats(history, one))
      found.push({ rule, detail: `${at}: ${detail}` });
  }
  return found;
};
