import { LongreinError } from '../errors.ts';
import { reinstateCommand } from './mending.ts';
import type { HostedService } from './ports.ts';
import { type ListedService, serviceKey } from './watermark-records.ts';
import type { Watermarks } from './watermarks.ts';

/**
 * The list of services whose watermarks hold what janitors may delete. A host puts its services on it before it reads
 * anything; a person takes one off that is never to run again. It stands beside the watermarks, so that everyone reads
 * both in one order.
 */
export async function enlist(
  watermarks: Watermarks,
  services: readonly HostedService[],
  { release, nowMs }: { release: string; nowMs: number },
): Promise<void> {
  await watermarks.current();
  const entries = services.flatMap(({ logic, topics, alsoReads = [] }) => {
    const known = watermarks.service(logic.name);
    if (known?.retired !== undefined) throw retired(known);
    const held = [...topics, ...alsoReads];
    // A release that needs less must not let go of what another one, which still runs, needs.
    const all = [...new Set([...(known?.topics ?? []), ...held])].sort();
    if (held.length === 0 || known?.topics.join() === all.join()) return [];
    const entry = { service: logic.name, topics: all, release, atMs: nowMs };
    return [{ key: serviceKey(logic.name), value: { ...known, ...entry } }];
  });
  await watermarks.put(entries);
}

function retired({ service, retired: deed }: ListedService): LongreinError {
  const when = deed === undefined ? '' : new Date(deed.atMs).toISOString();
  const who = `it was retired by ${deed?.by} at ${when}: ${deed?.reason}`;
  return new LongreinError('SERVICE_RETIRED', `${service} may not be started: ${who}`, {
    fix: `start this host without it; or take it back, from what is left of the log: ${reinstateCommand(service)}`,
  });
}
