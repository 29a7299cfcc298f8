/** All effective events of a session, by the rules of every reader. */
import type { SessionSource } from '../../../replay-tools/read/source.ts';
import type { SeenEvent } from '../../../schemas/event.ts';
import { accept, copyAcceptance } from '../../chassis/protocol/acceptance.ts';
import { foldCore, type SessionCore, unknownSession } from '../../chassis/protocol/session-core.ts';

export type PlacedEvent = Readonly<{ offset: number; event: SeenEvent }>;

export interface SessionEvents {
  readonly events: readonly PlacedEvent[];
  readonly core: SessionCore;
  /** Records of the session that do not count. */
  readonly ignored: number;
}

/** Reads the source to its end. */
export async function readEvents(source: SessionSource): Promise<SessionEvents> {
  const acceptance = copyAcceptance(source.acceptance);
  const events: PlacedEvent[] = [];
  let core = unknownSession(source.session);
  let ignored = 0;
  for await (const { offset, header, body } of source.records()) {
    const accepted = accept(acceptance, header);
    if (header.session !== source.session || body === undefined) continue;
    if (header.kind !== 'turn' && header.kind !== 'input') continue;
    const step = accepted ? foldCore(core, { offset, header, body }) : { core, events: [] };
    core = step.core;
    if (step.events.length === 0) ignored += 1;
    for (const event of step.events) events.push({ offset, event });
  }
  return { events, core, ignored };
}
