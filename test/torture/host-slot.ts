import type { HostProcess } from './host-process.ts';
import type { Stage } from './stage.ts';

/** The place of a host: whoever ends there is followed by another with the same services. */
export class HostSlot {
  readonly services: readonly string[];
  host: HostProcess;
  /** Something is being done to it; nobody else may. */
  busy = false;
  /** Last words of hosts that ended without being told to. */
  readonly ends: string[] = [];
  private readonly stage: Stage;

  private constructor(stage: Stage, services: readonly string[], host: HostProcess) {
    this.stage = stage;
    this.services = services;
    this.host = host;
  }

  static async open(stage: Stage, services: readonly string[]): Promise<HostSlot> {
    return new HostSlot(stage, services, await stage.startHost(services));
  }

  async restart(): Promise<void> {
    this.host = await this.stage.startHost(this.services);
  }

  /** Starts another where the host ended by itself, as whatever runs hosts would. */
  async look(): Promise<void> {
    if (this.busy || (await this.host.isAlive()) || this.busy) return;
    this.ends.push(`${this.host.name}: ${this.host.tail(1)}`);
    await this.restart();
  }
}
