import type { TurnBody } from '../../services/chassis/protocol/record.ts';
import type { Cause } from '../../services/chassis/protocol/service-fold.ts';

/** What a service answered with its newest turn: no later turn may list it again. */
export class Answered {
  private readonly newest = new Map<string, TurnBody>();

  /** Whether this cause was open before the service's next turn. */
  isOpen(service: string, cause: Cause): boolean {
    const turn = this.newest.get(service);
    if (turn === undefined) return true;
    if (cause.offset <= turn.baseOffset || turn.foreseen.includes(cause.event.record)) return false;
    const { record, index } = cause.event;
    return !turn.causes.some((one) => one.record === record && one.index === index);
  }

  take(turn: TurnBody): void {
    this.newest.set(turn.service, turn);
  }
}
