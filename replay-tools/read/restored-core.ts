import type { CheckpointBody } from '../../services/chassis/protocol/record.ts';
import type { SavedEntry } from '../../services/chassis/protocol/service-fold.ts';
import type { SessionCore } from '../../services/chassis/protocol/session-core.ts';
import type { SourceRecord } from './source.ts';

/**
 * What every reader knew of a session at a place from which on its log is there. Every service's checkpoints hold it, as
 * they hold the service's own state, so a log that was cut by retention can be judged from its first checkpoint on.
 */

export type RestoredCore = Readonly<{ core: SessionCore; offset: number }>;

const isCore = (core: SessionCore | undefined): core is SessionCore =>
  core !== undefined && typeof core.status === 'string' && typeof core.last === 'object';

function restored({ cursor, state }: CheckpointBody): RestoredCore | undefined {
  const saved = state.body as SavedEntry | undefined;
  return isCore(saved?.core) ? { core: saved.core, offset: cursor.offset } : undefined;
}

/** From these checkpoints, all of which count, the one that goes back furthest; undefined where there is none. */
export function restoredCore(checkpoints: readonly SourceRecord[]): RestoredCore | undefined {
  const found = checkpoints.flatMap(({ body }) =>
    body?.kind === 'checkpoint' ? (restored(body) ?? []) : [],
  );
  return found.toSorted((a, b) => a.offset - b.offset)[0];
}
