import type { Halt } from './halts.ts';
import type { Host } from './host.ts';
import type { BuiltService, Companion } from './service-context.ts';

/** What a process says of itself to who asks whether it lives and whether it is ready. */
export type Health = Readonly<{
  host: string;
  release: string;
  services: readonly string[];
  ready: boolean;
  /** Why it is not ready, in words; empty where it is. */
  reasons: readonly string[];
  /** What is worth knowing and no reason. */
  notes: readonly string[];
  /** `topic/partition` -> why it stands still; the others are worked on. */
  halted: Readonly<Record<string, Halt>>;
}>;

type Running = Readonly<{
  host: Pick<Host, 'unready' | 'status'>;
  services: readonly string[];
  companions: readonly Pick<Companion, 'health'>[];
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
    const services = built.map(({ hosted }) => hosted.logic.name);
    this.running = {
      host,
      services,
      companions: built.flatMap(({ companion }) => companion ?? []),
    };
  }

  stops(): void {
    this.phase = 'it is stopping';
    this.running = undefined;
  }

  now(): Health {
    const { host, services = [], companions = [] } = this.running ?? {};
    const said = companions.map((one) => one.health?.() ?? { reasons: [], notes: [] });
    const own = host === undefined ? [this.phase] : host.unready();
    const reasons = [...own, ...said.flatMap((one) => one.reasons)];
    const notes = said.flatMap((one) => one.notes);
    const halted = host?.status().halted ?? {};
    return { ...this.identity, services, ready: reasons.length === 0, reasons, notes, halted };
  }
}
