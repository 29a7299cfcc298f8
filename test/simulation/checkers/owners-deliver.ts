import type { Run } from '../world/run-outcome.ts';
import type { Checker } from './violation.ts';

const rule = 'a result is sent only by a host that has read its own epoch';

/** `host service topic/partition` -> when its first epoch was accepted. */
function ownedSince({ history }: Run): Map<string, number> {
  const since = new Map<string, number>();
  for (const { accepted, body, topic, partition, timestampMs } of history.lines) {
    if (!accepted || body.kind !== 'epoch') continue;
    for (const service of body.services) {
      const key = `${body.host} ${service} ${topic}/${partition}`;
      since.set(key, Math.min(since.get(key) ?? Number.POSITIVE_INFINITY, timestampMs));
    }
  }
  return since;
}

export const ownersDeliver: Checker = (run) => {
  const since = ownedSince(run);
  return run.witness.results.flatMap(({ host, service, session, atMs }) => {
    const at = run.history.sessions.get(session);
    if (at === undefined) return [];
    const from = since.get(`${host} ${service} ${at.topic}/${at.partition}`);
    if (from !== undefined && from <= atMs) return [];
    return [{ rule, detail: `${host} sent the result of ${session} and does not own ${service}` }];
  });
};
