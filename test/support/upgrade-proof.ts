import { expect } from 'vitest';
import { fillFromStores } from '../../replay-tools/read/contents.ts';
import { judgeSession } from '../../replay-tools/read/session.ts';
import { isNeeded, type SessionSource, type SourceRecord } from '../../replay-tools/read/source.ts';
import { lookupIn, releaseLogics } from '../../replay-tools/verify/logics.ts';
import { reportLines } from '../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { createDirectoryBlobs } from '../../services/chassis/content/blobs.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { parseHeader, type RecordBody } from '../../services/chassis/protocol/record.ts';
import type { LiveStack } from './live-stack.ts';
import { nextLogic, nextReleaseName } from './next-release.ts';
import { stepLossOf } from './step-loss.ts';
import { jsonOf } from './topic-tail.ts';

export type Proved = Readonly<{
  /** Calls and decisions, and those of them that were lost or had to be repeated, with their session. */
  steps: number;
  loss: readonly string[];
  /** Decisions whose request crossed a hand-over. */
  decidedAgain: number;
  releases: readonly string[];
  /** Turns that this release could only check by hash: those of the next one. */
  hashed: number;
}>;

/** The services of both releases, whichever decided. */
const ofBoth: typeof releaseLogics = (service, behaviour) => {
  const logic = releaseLogics(service);
  return logic === undefined ? undefined : lookupIn([nextLogic(logic), logic])(service, behaviour);
};

/** A session with the partition that it lies in, read from its start. */
export type ReadSession = Readonly<{ session: string; partition: readonly LogRecord[] }>;

async function sourceOf(stack: LiveStack, read: ReadSession): Promise<SessionSource> {
  const { session, partition: all } = read;
  const blobs = createDirectoryBlobs(stack.blobDir);
  const records: SourceRecord[] = [];
  for (const record of all) {
    const header = parseHeader(record.headers);
    if (header === undefined || !isNeeded(header, session)) continue;
    const { offset } = record;
    if (header.session !== session) records.push({ offset, header });
    else
      records.push({
        ...{ offset, header },
        body: await fillFromStores(jsonOf(record) as RecordBody, header, { blobs }),
      });
  }
  const { topic = '', partition = -1 } = all[0] ?? {};
  return {
    ...{ session, topic, partition, origin: topic, from: 0, acceptance: {}, whole: true },
    async *records() {
      yield* records;
    },
  };
}

/**
 * Sessions that two releases worked on: today's release finds nothing wrong and names the turns of the other; who carries
 * both decides every turn again.
 */
export async function provedByBoth(
  stack: LiveStack,
  logs: readonly ReadSession[],
): Promise<Proved> {
  const releases = new Set<string>();
  const loss: string[] = [];
  let [steps, hashed, decidedAgain] = [0, 0, 0];
  for (const one of logs) {
    const source = await sourceOf(stack, one);
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
    decidedAgain += found.decidedAgain;
    loss.push(...[...found.lost, ...found.repeated].map((step) => `${one.session}: ${step}`));
  }
  return { steps, loss, decidedAgain, releases: [...releases], hashed };
}
