import type { RuntimeConfig } from '../config/runtime-config.ts';
import { Figures } from '../telemetry/figures.ts';
import { type HealthServer, startHealthServer } from '../telemetry/health-server.ts';
import { startTelemetry, type Telemetry } from '../telemetry/tracing.ts';
import { HostHealth } from './health.ts';
import type { Host } from './host.ts';
import { measureHost } from './host-gauges.ts';
import type { HostPorts, Tracer } from './ports.ts';
import type { BuiltService } from './service-context.ts';

/** Everything by which a host process is watched from outside: traces, figures, health. */
export class HostTelemetry {
  readonly health: HostHealth;
  /** Absent where nobody would read it. */
  readonly figures: Figures | undefined;
  private readonly exported: Telemetry;
  private readonly server: HealthServer | undefined;
  private stopMeasuring: () => void = () => undefined;

  private constructor(parts: {
    health: HostHealth;
    figures: Figures | undefined;
    exported: Telemetry;
    server: HealthServer | undefined;
  }) {
    this.health = parts.health;
    this.figures = parts.figures;
    this.exported = parts.exported;
    this.server = parts.server;
  }

  /** Listens before anything else: who asks reads what the start waits for. Throws HEALTH_ADDRESS. */
  static async start(config: RuntimeConfig, release: string): Promise<HostTelemetry> {
    const { host, stateDir, otlpEndpoint, metricExportMs = 60_000, health: address } = config;
    const health = new HostHealth({ host, release });
    const read = address !== undefined || otlpEndpoint !== undefined;
    const figures = read ? new Figures() : undefined;
    const server =
      address === undefined || figures === undefined
        ? undefined
        : await startHealthServer({
            ...{ address, stateDir, meter: figures.meter },
            health: () => health.now(),
          });
    const exported = await startTelemetry({
      ...{ endpoint: otlpEndpoint, host, release, figures, metricExportMs },
    });
    return new HostTelemetry({ health, figures, exported, server });
  }

  get tracer(): Tracer {
    return this.exported.tracer;
  }

  /** The host has begun: from here on it says itself how it is. */
  watch(host: Host, ports: HostPorts, built: readonly BuiltService[]): void {
    this.health.runs(host, built);
    if (this.figures === undefined) return;
    const { meter } = this.figures;
    this.stopMeasuring = measureHost(host, { meter, ports, health: this.health });
  }

  async stop(): Promise<void> {
    this.stopMeasuring();
    await this.server?.stop();
    await this.exported.stop();
  }
}
