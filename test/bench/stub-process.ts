import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import type { ModelWays } from '../support/provider-stub.ts';

/**
 * Starts a stand-in for a provider in a process of its own: what it takes to answer must not stand among what a host, or
 * who measures it, takes.
 */
export async function startStubProcess(ways: ModelWays) {
  const entry = join(packageRoot, 'dist/test/bench/stub-entry.js');
  const child = fork(entry, [JSON.stringify(ways)], { execArgv: [] });
  const ended = once(child, 'exit');
  const [url] = (await once(child, 'message')) as [string];
  const stop = async (): Promise<void> => {
    child.disconnect();
    await ended;
  };
  return { url, stop };
}
