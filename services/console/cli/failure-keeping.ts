/** What the event store of a host keeps of sessions that failed: the context window of the agent that failed. */
import { failedContext } from '../../../replay-tools/context/failed-context.ts';
import { History } from '../../../replay-tools/read/history.ts';
import { readFromPlace } from '../../../replay-tools/read/kafka.ts';
import { judgeSession } from '../../../replay-tools/read/session.ts';
import type { FailureKeeping } from '../../event-store/service.ts';
import { keepContext, pruneKept } from './kept-contexts.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Reads the session from the log, never from ClickHouse, and keeps the window beside the blobs. */
export const failureKeeping: FailureKeeping = ({ config, ports }) => {
  const { log, codec, blobs, keys, clock, logger } = ports;
  const reading = { log, codec, blobs, ...(keys === undefined ? {} : { keys }) };
  let prunedAtMs = Number.NEGATIVE_INFINITY;
  return async ({ session, offset, index, ...place }) => {
    if (keys?.erasureOf(session) !== undefined) return;
    const source = readFromPlace(reading, session, { ...place, to: offset + 1 });
    const history = new History(await judgeSession(source));
    const failed = history.entries.find(({ place: at }) => at === `${offset}.${index}`);
    const document = failed === undefined ? undefined : failedContext(history, failed);
    if (document === undefined) return;
    const path = await keepContext(config.blobDir, document, keys);
    logger.info({ session, path }, 'context of a failed session kept');
    const nowMs = clock.nowMs();
    if (nowMs - prunedAtMs < hourMs) return;
    prunedAtMs = nowMs;
    await pruneKept(config.blobDir, nowMs - config.retentionDays * dayMs);
  };
};
