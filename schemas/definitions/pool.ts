/** When nobody gets a place any more because the pool does not work. */
export type BreakerRules = Readonly<{
  /** Attempts in a row that fail for reasons that speak of the pool. */
  failuresMax: number;
  /** How long nobody gets a place then; doubles with each probe that fails. */
  coolMs: number;
}>;

/** What bounds a pool over all hosts, and how it is shared; nothing is bounded that is not there. */
export type PoolLimits = Readonly<{
  /** Tasks at a time. */
  concurrencyMax?: number;
  /** Tasks of one tenant at a time. */
  perTenantMax?: number;
  /** Tasks of one tenant's goals of one key at a time. */
  perKeyMax?: number;
  /** Tenant to tasks at a time, in the place of `perTenantMax`. */
  tenants?: Readonly<Record<string, number>>;
  breaker?: BreakerRules;
}>;

/** A named group of workers; a task names the pool that runs it. */
export type PoolDefinition = PoolLimits &
  Readonly<{
    name: string;
    description: string;
  }>;

/** Whether tasks of this pool ask for a place before they begin. */
export const givesPermits = (pool: PoolLimits): boolean =>
  (pool.concurrencyMax ?? pool.perTenantMax ?? pool.perKeyMax ?? pool.tenants ?? pool.breaker) !==
  undefined;
