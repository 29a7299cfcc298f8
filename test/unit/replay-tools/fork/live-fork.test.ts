import { beforeAll, describe, expect, test } from 'vitest';
import { anonymised } from '../../../../replay-tools/anonymise/anonymise.ts';
import { costOf } from '../../../../replay-tools/cost/cost.ts';
import { dagOf } from '../../../../replay-tools/dag/dag.ts';
import { diffOf } from '../../../../replay-tools/diff/diff.ts';
import type { LiveForkOptions } from '../../../../replay-tools/fork/live-fork.ts';
import { retryPoint } from '../../../../replay-tools/fork/retry-point.ts';
import { spansOf } from '../../../../replay-tools/gantt/spans.ts';
import { findEvent } from '../../../../replay-tools/read/find-event.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { timelineLines } from '../../../../replay-tools/show/timeline.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import { whyOf } from '../../../../replay-tools/why/why.ts';
import { eventIn, ForkDesk } from '../../../support/live-forks.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { recordsOf, sourceFromWorld, withRecords } from '../../../support/world-session.ts';

/** Forks that go on in the log, with a past that they share. */

let world: MemoryWorld;
let works = false;
let failed = '';

let desk: ForkDesk;
const historyOf = (session: string) => desk.historyOf(session);
const fork = (...given: Parameters<ForkDesk['fork']>) => desk.fork(...given);
const verified = (session: string) => desk.verified(session);
const ended = (session: string) => desk.ended(session);

beforeAll(async () => {
  const flaky = ({ arguments: given }: { arguments: unknown }) =>
    works ? { result: given as never } : { failure: { message: 'Not today.' } };
  world = await MemoryWorld.start({ seed: 11, tools: { 'test.flaky': flaky } });
  desk = new ForkDesk(world);
  const goal = {
    id: 'failing',
    tenant: 'acme',
    goal: 'Try.',
    plan: 'flaky',
    inputs: { name: 'x' },
  };
  failed = world.publishGoal(goal).session;
  if (!(await world.runUntilDone())) throw new Error('the goal did not come to its end');
});

describe('a retry of a failed session', () => {
  let retried: History;
  let parent: History;

  beforeAll(async () => {
    works = true;
    await world.clock.run(120_000);
    parent = await historyOf(failed);
    retried = await ended(await fork(parent, retryPoint(parent)));
  });

  test('goes on from its failed step to another end, by its own permit and claim', () => {
    const types = retried.entries.map(({ event }) => event.type);
    expect(types[0]).toBe('session.forked');
    expect(types).toContain('tool.permitted');
    expect(types).toContain('session.completed');
    expect(types).not.toContain('plan.accepted');
    expect(types).not.toContain('task.timed-out');
  });

  test('every decision in it is decided the same again, from the log and from a file', async () => {
    const report = await verified(retried.session);
    expect(report.differences).toEqual([]);
    expect(report).toMatchObject({ identical: true, complete: true, status: 'closed' });
    const fromFile = await verifySession(await sourceFromWorld(world, retried.session));
    expect(fromFile).toMatchObject({ identical: true, complete: true });
  });

  test('why leads through the shared past to the opening that it began with', async () => {
    const last = retried.entries.findLast(({ event }) => event.type === 'task.completed');
    if (last === undefined) throw new Error('no task was completed');
    const why = await whyOf(retried, last, () => Promise.resolve(undefined));
    expect(why.links[0]?.happening.event.type).toBe('session.opened');
    expect(why.beyond?.types).toEqual(['goal.admitted']);
    expect(retried.shared[0]?.event.type).toBe('session.opened');
    expect(retried.shared[0]?.place).toMatch(/^~\d+\.0$/);
    expect(timelineLines(retried.judged).join('\n')).toContain(`of ${failed} at `);
  });

  test('pictures show the whole way, and figures count what it did itself', async () => {
    expect(dagOf(retried).map(({ status }) => status)).toEqual(['completed', 'completed']);
    const [whole] = spansOf(retried);
    expect(whole).toMatchObject({ kind: 'session', end: 'ok' });
    const { one, other, rows } = diffOf(parent, retried);
    expect(rows.filter(({ kind }) => kind === 'same').length).toBeGreaterThan(10);
    expect(one.status).toBe('failed');
    expect(costOf(retried, 'task').total.calls).toBe(other.modelCalls + other.toolCalls);
    const shared = findEvent(retried, retried.shared[3]?.place ?? '');
    expect(shared).toBe(retried.shared[3]);
    await expect(fork(retried, shared)).rejects.toMatchObject({ code: 'FORK_NO_DECISION' });
  });

  test('a fork of the fork shares both pasts, and can be verified too', async () => {
    const at = eventIn(retried, 'tool.completed');
    const again = await ended(await fork(retried, at));
    expect(again.shared.some(({ event }) => event.type === 'session.forked')).toBe(true);
    expect(again.entries.map(({ event }) => event.type)).toContain('session.completed');
    expect(await verified(again.session)).toMatchObject({ identical: true, complete: true });
  });

  test('a policy that the fork is given binds the guard', async () => {
    const settings = [{ what: 'policy', policy: { deny: ['test.flaky'] } }] as const;
    const denied = await ended(await fork(parent, retryPoint(parent), { settings }));
    const types = denied.entries.map(({ event }) => event.type);
    expect(types).toContain('tool.denied');
    expect(types).not.toContain('tool.claimed');
    expect(await verified(denied.session)).toMatchObject({ identical: true, complete: true });
  });

  test('an opening that says something else of the past than what is there is found', async () => {
    const source = await sourceFromWorld(world, retried.session);
    const records = (await recordsOf(source)).map((record) => {
      if (record.body?.kind !== 'input' || record.body.past === undefined) return record;
      const [first] = record.body.event.data['calls'] as unknown as { was: string }[];
      const data = { ...record.body.event.data, calls: [{ ...first, call: 'call_other' }] };
      return { ...record, body: { ...record.body, event: { ...record.body.event, data } } };
    });
    const report = await verifySession(withRecords(source, records as typeof records));
    expect(report.identical).toBe(false);
    expect(report.differences[0]).toMatchObject({ kind: 'base', eventType: 'session.forked' });
  });

  test('without the past it is checked by hash only', async () => {
    const source = await sourceFromWorld(world, retried.session);
    const records = (await recordsOf(source)).map((record) => {
      if (record.body?.kind !== 'input' || record.body.past === undefined) return record;
      const { past: _gone, ...body } = record.body;
      return { ...record, body };
    });
    const report = await verifySession(withRecords(source, records));
    expect(report).toMatchObject({ identical: true, complete: false });
  });

  test('its texts are another session’s, and are not given away as anonymised', async () => {
    const source = await sourceFromWorld(world, retried.session);
    await expect(anonymised(source, 'k')).rejects.toMatchObject({ code: 'FORK_NOT_ANONYMISED' });
  });

  test('its result says that it is a fork, and the goal of the other one hears nothing', async () => {
    const [result] = world.results().filter(({ session }) => session === retried.session);
    expect(result).toMatchObject({ forkOf: failed, status: 'completed', goalId: 'failing' });
    expect(result?.['usage']).toEqual({ inputTokens: 0, outputTokens: 0, costNanoUsd: 0 });
    const after = await historyOf(failed);
    expect(after.entries.length).toBe(parent.entries.length);
  });
});

describe('a fork that cannot be', () => {
  const refused = async (type: string, settings: LiveForkOptions['settings'] = []) => {
    const history = await historyOf(failed);
    return fork(history, eventIn(history, type), { settings }).then(
      () => 'nothing',
      (thrown: { code?: string }) => thrown.code,
    );
  };

  test('is refused with a reason, and nothing is written', async () => {
    const before = world.records().length;
    expect(await refused('session.opened')).toBe('FORK_NOT_LIVE');
    expect(await refused('session.closed')).toBe('FORK_NO_DECISION');
    const input = { what: 'input', name: 'name', value: 'y' } as const;
    expect(await refused('tool.failed', [input])).toBe('FORK_NOT_LIVE');
    const prompt = { what: 'prompt', agent: 'nobody', value: 'y' } as const;
    expect(await refused('tool.failed', [prompt])).toBe('AGENT_UNKNOWN');
    const result = (await historyOf(failed)).entries.findLast(({ isInput }) => !isInput);
    expect(result?.event.type).toBe('session.closed');
    const file = new History(await judgeSession(await sourceFromWorld(world, failed)));
    await expect(fork(file, retryPoint(file))).rejects.toMatchObject({ code: 'FORK_NOT_LIVE' });
    expect(world.records().length).toBe(before);
  });
});

describe('a fork of a session that still runs', () => {
  test('asks anew for the call under way, and both go on', async () => {
    const goal = { id: 'counting', tenant: 'acme', goal: 'Wait.', plan: 'count' };
    const inputs = { counter: 'c', waitMs: 20_000 };
    const { session } = world.publishGoal({ ...goal, inputs });
    await world.clock.run(3_000);
    const running = await historyOf(session);
    expect(running.judged.core.status).toBe('open');
    const at = running.entries.at(-1);
    if (at === undefined) throw new Error('nothing happened yet');
    const point = running.ofRecord(at.event.record)[0] ?? at;
    const forked = await ended(await fork(running, point));
    const original = await ended(session);
    for (const one of [forked, original]) {
      expect(one.entries.map(({ event }) => event.type)).toContain('session.completed');
      expect(await verified(one.session)).toMatchObject({ identical: true, complete: true });
    }
    const calls = (one: History) =>
      one.entries
        .filter(({ event }) => event.type === 'tool.completed')
        .map(({ scope }) => scope.call);
    expect(calls(original).filter((call) => calls(forked).includes(call))).toEqual([]);
  });
});
