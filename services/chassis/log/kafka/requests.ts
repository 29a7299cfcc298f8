/**
 * Requests that wait for a broker. kafkajs fails those that it has sent when a connection is ended,
 * but one that is only just being sent then stays without any answer for ever: here each ends with
 * its broker, whatever state it is in, and after its time. kafkajs looks for late ones ten times a
 * second on every connection, which is most of what an idle process would do: here it is one look.
 */
import { brokerSilent } from './failure.ts';
import type { WireBroker } from './internals.ts';

const LOOK_MS = 500;

type Waiting = Readonly<{ reject: (reason: Error) => void; untilMs: number; withinMs: number }>;

export class RequestsOnTheWay {
  readonly #withinMs: number;
  readonly #waiting = new Map<WireBroker, Set<Waiting>>();
  readonly #ended = new WeakMap<WireBroker, Error>();
  #looking: NodeJS.Timeout | undefined;

  /** @param withinMs How long a request may take, where it says nothing of its own. */
  constructor(withinMs: number) {
    this.#withinMs = withinMs;
  }

  /** Does the work with the broker. Rejects at once when the broker is, or was, given up, and when its time is over. */
  track<T>(
    broker: WireBroker,
    work: (broker: WireBroker) => Promise<T>,
    withinMs = this.#withinMs,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const reason = this.#ended.get(broker);
      if (reason !== undefined) {
        reject(reason);
        return;
      }
      const one = { reject, withinMs, untilMs: performance.now() + withinMs };
      const waiting = this.#waiting.get(broker) ?? new Set<Waiting>();
      this.#waiting.set(broker, waiting.add(one));
      this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref();
      work(broker)
        .then(resolve, reject)
        .finally(() => waiting.delete(one));
    });
  }

  /** Fails what waits for this broker, and all that asks it from now on. */
  fail(broker: WireBroker, reason: Error): void {
    this.#ended.set(broker, reason);
    for (const { reject } of this.#waiting.get(broker) ?? []) reject(reason);
    this.#waiting.delete(broker);
  }

  #look(): void {
    const nowMs = performance.now();
    const all = [...this.#waiting.values()].flatMap((waiting) => [...waiting]);
    for (const one of all) if (one.untilMs < nowMs) one.reject(brokerSilent(one.withinMs));
    if (all.length > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }
}
