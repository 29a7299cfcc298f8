import type { TurnBody } from '../protocol/record.ts';

/** A turn that was decided and is not in the log yet. */
export type DecidedTurn = Readonly<{ id: string; body: TurnBody; traceparent: string }>;
