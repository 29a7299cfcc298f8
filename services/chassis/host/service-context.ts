import type { JsonObject } from '../../../schemas/json.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import type { LongreinError } from '../errors.ts';
import type { AnyLogic, ServiceLogic } from '../protocol/service-logic.ts';
import type { Host } from './host.ts';
import type { Lanes } from './lanes.ts';
import type { HostedService, HostPorts } from './ports.ts';

/** What a service is built from. */
export type ServiceContext = Readonly<{
  config: RuntimeConfig;
  catalog: Catalog;
  ports: HostPorts;
  /** The generations of the lanes, where there may be more than the first. */
  lanes?: Lanes;
  /** The service cannot go on: the process should end with this message. */
  onFatal(error: LongreinError): void;
}>;

/** Work that runs beside a service's decisions: an ingester, a source reader. */
export type Companion = Readonly<{
  start(host: Host): Promise<void>;
  stop(): Promise<void>;
  /** Why the service is not ready, and what is worth knowing, in words. Must be quick. */
  health?(): Readonly<{ reasons: readonly string[]; notes: readonly string[] }>;
}>;

export type BuiltService = Readonly<{ hosted: HostedService; companion?: Companion }>;
export type ServiceFactory = (context: ServiceContext) => Promise<BuiltService> | BuiltService;

/** Hides a logic's own types from the host, which only passes them on. */
export const anyLogic = <S, F extends JsonObject>(logic: ServiceLogic<S, F>): AnyLogic =>
  logic as unknown as AnyLogic;
