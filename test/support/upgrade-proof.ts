import { expect } from 'vitest';
import { readFromLog } from '../../replay-tools/read/kafka.ts';
import { judgeSession } from '../../replay-tools/read/session.ts';
import { lookupIn, releaseLogics } from '../../replay-tools/verify/logics.ts';
import { reportLines } from '../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { createDirectoryBlobs } from '../../services/chassis/content/blobs.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LiveStack } from './live-stack.ts';
import { nextLogic, nextReleaseName } from './next-release.ts';
import { stepLossOf } from './step-loss.ts';

export type Proved = Readonly<{
  /** Calls and decisions, and those of them that were lost or had to be repeated, with their session. */
  steps: number;
  loss: readonly string[];
  releases: readonly string[];
  /** Turns that this release could only check by hash: those of the next one. */
  hashed: number;
}>;

/** The services of both releases, whichever decided. */
const ofBoth: typeof releaseLogics = (service, behaviour) => {
  const logic = releaseLogics(service);
  return logic === undefined ? undefined : lookupIn([nextLogic(logic), logic])(service, behaviour);
};

/**
 * Sessions that two releases worked on: today's release finds nothing wrong and names the turns of the other; who carries
 * both decides every turn again.
 */
export async function provedByBoth(stack: LiveStack, logs: readonly string[]): Promise<Proved> {
  const log = createKafkaLog({ brokers: stack.brokers, clientId: 'proof' });
  const reading = { log, codec: createFixedCodec(), blobs: createDirectoryBlobs(stack.blobDir) };
  const releases = new Set<string>();
  const loss: string[] = [];
  let [steps, hashed] = [0, 0];
  for (const one of logs) {
    const source = await readFromLog(reading, one);
    const today = await verifySession(source);
    expect(today, reportLines(today).join('\n')).toMatchObject({ identical: true });
    for (const turns of today.hashed) {
      expect(turns.release).toBe(nextReleaseName);
      hashed += turns.turns;
    }
    const both = await verifySession(source, ofBoth);
    expect(both, reportLines(both).join('\n')).toMatchObject({ identical: true, hashed: [] });
    for (const release of both.releases) releases.add(release);
    const found = stepLossOf(await judgeSession(source));
    steps += found.steps;
    loss.push(...[...found.lost, ...found.repeated].map((step) => `${one}: ${step}`));
  }
  await log.close();
  return { steps, loss, releases: [...releases], hashed };
}
