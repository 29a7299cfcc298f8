import type { EventAddress } from '../../schemas/event.ts';

/**
 * What is known of events, by where they stand: the record, then the place in it. Keyed by addresses as text, each look
 * would make a text and hash it: two for each event of a session and service.
 */
export class EventPlaces<T> {
  private readonly records = new Map<string, (T | undefined)[]>();

  set({ record, index }: EventAddress, one: T): void {
    const places = this.records.get(record);
    if (places !== undefined) {
      places[index] = one;
      return;
    }
    const fresh: (T | undefined)[] = [];
    fresh[index] = one;
    this.records.set(record, fresh);
  }

  get({ record, index }: EventAddress): T | undefined {
    return this.records.get(record)?.[index];
  }
}
