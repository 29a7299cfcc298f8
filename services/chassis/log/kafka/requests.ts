/**
 * Requests that wait for a broker. kafkajs fails those that it has sent when a connection is ended,
 * but one that is only just being sent then stays without any answer for ever: here each ends with
 * its broker, whatever state it is in.
 */
import type { WireBroker } from './internals.ts';

type Fail = (reason: Error) => void;

export class RequestsOnTheWay {
  readonly #waiting = new Map<WireBroker, Set<Fail>>();
  readonly #ended = new WeakMap<WireBroker, Error>();

  /** Does the work with the broker. Rejects at once when the broker is, or was, given up. */
  track<T>(broker: WireBroker, work: (broker: WireBroker) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const reason = this.#ended.get(broker);
      if (reason !== undefined) {
        reject(reason);
        return;
      }
      const waiting = this.#waiting.get(broker) ?? new Set<Fail>();
      this.#waiting.set(broker, waiting.add(reject));
      work(broker)
        .then(resolve, reject)
        .finally(() => waiting.delete(reject));
    });
  }

  /** Fails what waits for this broker, and all that asks it from now on. */
  fail(broker: WireBroker, reason: Error): void {
    this.#ended.set(broker, reason);
    for (const reject of this.#waiting.get(broker) ?? []) reject(reason);
    this.#waiting.delete(broker);
  }
}
