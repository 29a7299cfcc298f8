import type { Halt } from './halts.ts';
import type { Host } from './host.ts';
import type { BuiltService, Companion } from './service-context.ts';

/** What a process says of itself to who asks whether it lives and whether it is ready. */
export type Health = Readonly<{
  host: string;
  release: string;
  services: readonly string[];
  ready: boolean;
  /** Service -> whether it is ready itself: it may be while another one of the process waits. */
  serviceReady: Readonly<Record<string, boolean>>;
  /** Why it is not ready, in words; empty where it is. */
  reasons: readonly string[];
  /** What is worth knowing and no reason. */
  notes: readonly string[];
  /** `topic/partition` -> why it stands still; the others are worked on. */
  halted: Readonly<Record<string, Halt>>;
}>;

type Running = Readonly<{
  host: Pick<Host, 'unready' | 'status'>;
  services: readonly Readonly<{ name: string; companion: Pick<Companion, 'health'> | undefined }>[];
}>;

/** The life of a host process, from its first waiting to its end. */
export class HostHealth {
  private readonly identity: Readonly<{ host: string; release: string }>;
  private phase = 'it has just started';
  private running: Running | undefined;

  constructor(identity: Readonly<{ host: string; release: string }>) {
    this.identity = identity;
  }

  /** What the start waits for, until it runs. */
  waitsFor(what: string): void {
    this.phase = `waiting for ${what}`;
  }

  runs(host: Running['host'], built: readonly BuiltService[]): void {
    const services = built.map(({ hosted, companion }) => ({
      name: hosted.logic.name,
      companion,
    }));
    this.running = { host, services };
  }

  stops(): void {
    this.phase = 'it is stopping';
    this.running = undefined;
  }

  now(): Health {
    const { host, services = [] } = this.running ?? {};
    const quiet = { reasons: [], notes: [] };
    const asked = services.map(({ name, companion }) => ({
      name,
      ...(companion?.health?.() ?? quiet),
    }));
    const own = host === undefined ? [this.phase] : host.unready();
    const reasons = [...own, ...asked.flatMap((one) => one.reasons)];
    const notes = asked.flatMap((one) => one.notes);
    const halted = host?.status().halted ?? {};
    const serviceReady = Object.fromEntries(
      asked.map((one) => [
        one.name,
        host?.unready(one.name).length === 0 && one.reasons.length === 0,
      ]),
    );
    const hosted = { services: services.map(({ name }) => name), serviceReady };
    return { ...this.identity, ...hosted, ready: reasons.length === 0, reasons, notes, halted };
  }
}
