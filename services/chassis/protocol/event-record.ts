import type { Content } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';

/** An event as it stands in a record. */
export type EventRecord = Readonly<{
  type: string;
  version: number;
  data: JsonObject;
  content?: Readonly<Record<string, Content>>;
  /** The only services that have to understand it, where its schema names them: others pass it by. */
  readers?: readonly string[];
}>;
