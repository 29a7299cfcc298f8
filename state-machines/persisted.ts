import type { JsonObject } from '../schemas/json.ts';

/** A machine's state as data: it stands in service states and checkpoints. */
export type Persisted = Readonly<{ value: string; context: JsonObject; done: boolean }>;
