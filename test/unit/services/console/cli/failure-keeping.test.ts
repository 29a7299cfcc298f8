import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contextOf } from '../../../../../replay-tools/context/context.ts';
import { contextDocument } from '../../../../../replay-tools/context/context-text.ts';
import { History } from '../../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../../replay-tools/read/session.ts';
import type { ServiceContext } from '../../../../../services/chassis/host/service-context.ts';
import { failureKeeping } from '../../../../../services/console/cli/failure-keeping.ts';
import { keptOf, pruneKept, readKept } from '../../../../../services/console/cli/kept-contexts.ts';
import type { FailedSession } from '../../../../../services/event-store/service.ts';
import { KeyRing } from '../../../../support/key-ring.ts';
import { MemoryWorld } from '../../../../support/memory-world.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';
import { exportFromWorld, sourceFromWorld } from '../../../../support/world-session.ts';

/** The context of an agent that failed is kept by the event store: once, as the log has it, sealed where its session is. */

const blobDir = mkdtempSync(join(tmpdir(), 'longrein-kept-'));
const planted = 'Elfriede Planted';
const failing = () => ({ failure: { code: 'NO_ANSWER', retryable: false } });

let ring: KeyRing;
let world: MemoryWorld;
let session: string;
const asked: (FailedSession & { by: string })[] = [];
const hanging = new Set<string>();

/** Which of the two event stores asks is told by who is there. */
const keepFailed = async (failed: FailedSession): Promise<void> => {
  const by = world.hosts.some(({ name }) => name === 'host-2') ? 'host-2' : 'host-3';
  asked.push({ ...failed, by });
  if (hanging.has(by)) await new Promise<void>(() => undefined);
};

beforeAll(async () => {
  ring = new KeyRing();
  const keys = () => ring.open();
  const hosts = [['all'], ['event-store']];
  world = await MemoryWorld.start({ seed: 5, hosts, keys, model: failing, keepFailed });
  hanging.add('host-2');
  ({ session } = world.publishGoal({ goal: planted, plan: 'ask', inputs: { question: planted } }));
  expect(await world.runUntilDone()).toBe(true);
  await world.clock.run(10_000, () => asked.length > 0);
});

afterAll(() => {
  ring.remove();
  rmSync(blobDir, { recursive: true, force: true });
});

const stored = (): number =>
  world.records('longrein.sinks').filter(({ headers }) => headers['lr_types'] === 'range.stored')
    .length;

function keeperOf(retentionDays = 30) {
  const log = world.connect('keeper');
  const { blobs, codec, clock } = world;
  const ports = { log, blobs, codec, clock, logger: keepingLogger(), keys: ring.open() };
  const context = { config: { blobDir, retentionDays }, ports } as unknown as ServiceContext;
  return failureKeeping(context);
}

const pathOf = (): string =>
  join(blobDir, 'contexts', session, `${asked[0]?.offset}.${asked[0]?.index}.json`);

describe('the event store', () => {
  test('asks for it before the range counts as stored; who dies meanwhile leaves it to the next', async () => {
    expect(asked).toMatchObject([{ session, by: 'host-2' }]);
    const before = stored();
    world.crash('host-2');
    await world.startHost('host-3', ['event-store']);
    await world.clock.run(60_000, () => asked.length > 1 && stored() > before);
    expect(stored()).toBeGreaterThan(before);
    const [first, again] = asked;
    expect(again).toMatchObject({
      session,
      by: 'host-3',
      offset: first?.offset,
      index: first?.index,
    });
  });
});

describe('what is kept', () => {
  test('is the window of the last model call, and nothing that was written stands open', async () => {
    await world.during(keeperOf()(asked[0] as FailedSession));
    expect(await keptOf(blobDir, session)).toEqual([pathOf()]);
    expect(readFileSync(pathOf(), 'utf8')).not.toContain('Planted');
    const source = await sourceFromWorld(world, session, { keys: ring.open() });
    const window = contextDocument(contextOf(new History(await judgeSession(source)), 'ask'));
    const document = (await readKept(pathOf(), ring.open())) as { context: unknown };
    expect(JSON.stringify(document.context)).toContain('Planted');
    expect(document.context).toEqual(JSON.parse(JSON.stringify(window)));
  });

  test('is written once: asked again it stays as it is, and leaves no other file', async () => {
    const before = statSync(pathOf()).mtimeMs;
    await world.during(keeperOf()(asked[1] as FailedSession));
    expect(statSync(pathOf()).mtimeMs).toBe(before);
    expect(readdirSync(join(blobDir, 'contexts', session))).toHaveLength(1);
  });

  test('follows from the log alone: another place to read from gives the same', async () => {
    const other = { ...(asked[0] as FailedSession), from: { offset: 0, acceptance: {} } };
    const first = await readKept(pathOf(), ring.open());
    rmSync(pathOf());
    await world.during(keeperOf()(other));
    expect(await readKept(pathOf(), ring.open())).toEqual(first);
  });

  test('cannot be read without the key, which is said', async () => {
    await expect(readKept(pathOf(), ring.closed())).rejects.toMatchObject({
      code: 'CONTENT_KEYS_NEEDED',
    });
  });

  test('goes when the log keeps such sessions no more, and not before', async () => {
    const [directory, nowMs] = [join(blobDir, 'contexts', session), Date.now()];
    expect(await pruneKept(blobDir, nowMs - 1_000_000)).toBe(0);
    utimesSync(directory, new Date(nowMs - 2_000_000), new Date(nowMs - 2_000_000));
    expect(await pruneKept(blobDir, nowMs - 1_000_000)).toBe(1);
    expect(await keptOf(blobDir, session)).toEqual([]);
  });

  test('is nothing where the session was erased, or where nobody asked a model', async () => {
    ring.open().erase({ session, tenant: 'default', by: 'dpo', reason: 'asked', atMs: 1 });
    await world.during(keeperOf()(asked[0] as FailedSession));
    expect(await keptOf(blobDir, session)).toEqual([]);
    expect(await exportFromWorld(world, session, { keys: ring.open() })).not.toContain('Planted');
    const none = world.publishGoal({ goal: 'Try.', plan: 'flaky', inputs: { name: 'x' } });
    expect(await keptOf(blobDir, none.session)).toEqual([]);
  });

  test('a name that leads elsewhere is nobody', async () => {
    expect(await keptOf(blobDir, '../..')).toEqual([]);
  });
});
