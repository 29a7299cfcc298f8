/** What hosts of the local stack say of their health, each at the address that it left in the state directory. */
import { readJsonIfThere } from '../../../deploy/local/files.ts';
import type { ProcessRecord } from '../../../deploy/local/processes.ts';
import { toError } from '../../chassis/errors.ts';
import type { Health } from '../../chassis/host/health.ts';
import { healthNotePath } from '../../chassis/telemetry/health-server.ts';

export type HostHealth = Pick<Health, 'ready' | 'reasons' | 'notes'>;

const answerWithinMs = 3_000;

/** Process name -> its health; none for a process that was not told to listen. */
export async function readHealth(
  stateDir: string,
  processes: readonly (ProcessRecord & { readonly alive: boolean })[],
): Promise<ReadonlyMap<string, HostHealth>> {
  const found = await Promise.all(
    processes
      .filter(({ alive }) => alive)
      .map(async ({ name, pid }) => {
        const note = await readJsonIfThere(healthNotePath(stateDir, pid));
        const url = (note as { url?: unknown } | undefined)?.url;
        return typeof url === 'string' ? [[name, await ask(url)] as const] : [];
      }),
  );
  return new Map(found.flat());
}

async function ask(url: string): Promise<HostHealth> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answerWithinMs) });
    const { ready, reasons, notes } = (await answer.json()) as Health;
    return { ready, reasons, notes };
  } catch (thrown) {
    const reason = `${url}/readyz does not answer: ${toError(thrown).message}`;
    return { ready: false, reasons: [reason], notes: [] };
  }
}
