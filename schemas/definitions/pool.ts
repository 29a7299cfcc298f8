/** A named group of workers; a task names the pool that runs it. */
export type PoolDefinition = Readonly<{
  name: string;
  description: string;
  /** How many tasks one host runs at a time in this pool. */
  concurrencyMax: number;
}>;
