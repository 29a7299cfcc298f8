import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bodyOf, type EventType, type SeenEvent } from '../../schemas/event.ts';
import { GoalFailedError, type GoalRequest, Harness } from '../../services/client/index.ts';
import { blocksOf } from '../support/document-example.ts';
import { filesOfDocument, temporaryCatalog } from '../support/document-files.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, fixture, stackUnderTest } from '../support/live-stack.ts';
import { ProviderStub } from '../support/provider-stub.ts';
import { SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';

/**
 * What plans can say (`test/fixtures/patterns`, and the page about plans), on a real broker: races, of which one host dies;
 * joined answers with their contradictions; loops; plans of models that are wrong, hopeless or find another way.
 */

const stack = stackUnderTest();
const counterDir = mkdtempSync(join(tmpdir(), 'longrein-counters-'));
const perCallNanoUsd = 100_000;
const label = { words: ['{"label": "other"}'] };
const stub = new ProviderStub({ babbler: { words: ['No plan', ' comes to mind.'] }, label });
/** Sessions to compute again in the end. */
const sessions: string[] = [];
let hosts: readonly LiveHost[];
let harness: Harness;
let logs: SessionLogs;
let catalog: ReturnType<typeof temporaryCatalog>;

/** The classifiers of the examples, with models that cost something. */
function classifiers(): Record<string, string> {
  const workers = ['first-classifier', 'second-classifier', 'third-classifier'];
  const agents = [...workers, 'list-reader', 'vote-comparer', 'vote-counter'];
  const names = [
    ...['plans/batch-classifier', 'tools/files.read', 'tools/sandbox.run', 'mcp-servers'],
    ...agents.map((name) => `agents/${name}`),
  ];
  const files = names.map((name) => [`${name}.yaml`, example(name)] as const);
  const models = workers.map((name) => `${name}: paid/label\n`);
  return { ...Object.fromEntries(files), 'models.yaml': models.join('') };
}

// The stub says of every answer that it has a hundred tokens.
const example = (name: string): string =>
  readFileSync(join(examples, `${name}.yaml`), 'utf8').replace('Max: 30\n', 'Max: 100\n');

function ownFiles(url: string): Record<string, string> {
  const [plan = '', counter = '', reporter = '', checker = ''] = blocksOf('plans.md', 'yaml');
  const shown = filesOfDocument('docs/plans.md');
  const pools = ['analysis', 'files', 'classifying'].map(
    (name) => `- { name: ${name}, description: Works. }\n`,
  );
  return {
    ...classifiers(),
    'plans/word-report.yaml': plan,
    'agents/word-counter.yaml': counter,
    'agents/reporter.yaml': reporter,
    'agents/checker.yaml': checker,
    'plans/ask-narrow.yaml': shown['plans/ask-narrow.yaml'] ?? '',
    'pools.yaml': `${shown['pools.yaml']}${pools.join('')}`,
    'providers.yaml': `providers: { paid: { baseUrl: ${url} } }\n`,
    'prices.yaml': 'paid/*: { inputNanoUsdPerMTokens: 0, outputNanoUsdPerMTokens: 1000000000 }\n',
  };
}

beforeAll(async () => {
  catalog = temporaryCatalog(ownFiles(await stub.start()));
  const env = {
    LONGREIN_COUNTER_DIR: counterDir,
    LONGREIN_PROVIDERS_FILE: join(catalog.path, 'providers.yaml'),
    LONGREIN_PRICES_FILE: join(catalog.path, 'prices.yaml'),
  };
  const catalogs = [fixture('catalog'), fixture('patterns'), catalog.path];
  hosts = [0, 1].map(() => new LiveHost({ stack, catalog: catalogs, env, eventStore: false }));
  await Promise.all(hosts.map((host) => host.ready()));
  harness = new Harness({ brokers: stack.brokers });
  logs = await SessionLogs.open(stack);
});
afterAll(async () => {
  await Promise.all([logs.close(), harness.close()]);
  await Promise.all(hosts.map((host) => host.remove()));
  await stub.stop();
  catalog.remove();
  rmSync(counterDir, { recursive: true });
});

async function settle(goal: GoalRequest) {
  const result = await harness.settle({ ...goal, waitMs: 90_000 });
  sessions.push(result.session);
  return result;
}

/** How often each branch of a race had its effect, by how long it waited. */
const effects = (counter: string): readonly number[] =>
  [1, 400, 2_500, 100_000].map((waitMs) => {
    const file = join(counterDir, `${counter}-${waitMs}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').length : 0;
  });

const eventsOf = async (session: string): Promise<readonly SeenEvent[]> =>
  (await logs.closed(session)).events;

const dataOf = <T extends EventType>(events: readonly SeenEvent[], type: T) =>
  events.filter((one) => one.type === type) as readonly SeenEvent[] as readonly SeenEvent<T>[];

describe('a race of branches', () => {
  const race = (kind: string, counter: string) =>
    settle({ plan: `race-${kind}`, inputs: { counter } });

  it('ends with the first, or with a quorum, and the others have no effect', async () => {
    const [first, quorum] = await Promise.all([race('first', 'one'), race('quorum', 'two')]);
    expect(first.output).toEqual({ counter: 'one-1', waitedMs: 1 });
    expect(quorum.output).toEqual([
      { counter: 'two-1', waitedMs: 1 },
      { counter: 'two-400', waitedMs: 400 },
      ...[null, null],
    ]);
    expect([effects('one'), effects('two')]).toEqual([
      [1, 0, 0, 0],
      [1, 1, 0, 0],
    ]);
    const stopped = dataOf(await eventsOf(quorum.session), 'task.cancelled');
    expect(stopped.map(({ data }) => data.task)).toEqual(['race:3', 'race:4']);
  });

  it('has each effect once at most where a host is killed, and ends as it should', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const all = names.flatMap((name) => [
      race('first', `first-${name}`),
      race('quorum', `quorum-${name}`),
    ]);
    const began = () => names.filter((name) => effects(`quorum-${name}`)[0] === 1).length;
    await hosts[0]?.until(() => began() >= 2, 20_000, 'two races that began');
    await hosts[0]?.kill();
    for (const result of await Promise.all(all)) {
      expect(result.status).toBe('completed');
      await logs.closed(result.session);
    }
    for (const name of names)
      for (const [kind, least] of [['first', 1] as const, ['quorum', 2] as const]) {
        const counts = effects(`${kind}-${name}`);
        expect(Math.max(...counts)).toBe(1);
        expect(counts.filter((count) => count === 1).length).toBeGreaterThanOrEqual(least);
        // It waits for longer than anybody needs it.
        expect(counts[3]).toBe(0);
      }
  });
});

describe('what three tasks gave', () => {
  const colours = [
    { value: 'red', tasks: ['ann', 'cas'] },
    { value: 'blue', tasks: ['ben'] },
  ];

  it('is merged member by member, and who contradicts whom stands in the result', async () => {
    const { output, contradictions } = await settle({ plan: 'witnesses-merge' });
    expect(output).toEqual({ colour: 'red', wheels: 4, plate: ['B-1', 'B-7'] });
    const plates = [
      { value: 'B-1', tasks: ['ben'] },
      { value: 'B-7', tasks: ['cas'] },
    ];
    expect(contradictions).toEqual([
      { member: 'colour', values: colours },
      { member: 'plate', values: plates },
    ]);
    const { status, error } = await settle({ plan: 'witnesses-strict' });
    expect([status, error?.code]).toEqual(['failed', 'OUTPUT_CONFLICT']);
    expect(error?.message).toContain('"colour" (ann, cas: "red" / ben: "blue")');
  });

  it('is voted on; the minority is named, and so are all sides where there is no quorum', async () => {
    const { output, contradictions } = await settle({ plan: 'witnesses-vote' });
    expect(output).toBe('red');
    expect(contradictions).toEqual([{ member: 'vote', values: colours }]);
    const { status, error } = await settle({ plan: 'witnesses-split' });
    expect([status, error?.code]).toEqual(['failed', 'OUTPUT_NO_QUORUM']);
    expect(error?.message).toContain('"red" (ann, cas); "blue" (ben)');
  });

  it('is told by a model, which sees who said what', async () => {
    const { output } = await settle({ plan: 'witnesses-told' });
    expect(output).toBe('They are not of one mind: ann says red, ben says blue, cas says red.');
  });
});

describe('a loop', () => {
  it('waits between its iterations, and ends after so many', async () => {
    const { output, session } = await settle({ plan: 'ticker' });
    expect(output).toEqual({ tick: { iterations: 3, exit: 'iterations', last: { at: 3 } } });
    const events = await eventsOf(session);
    const begun = dataOf(events, 'task.scheduled').filter(({ data }) => data.task !== 'tick');
    const ended = dataOf(events, 'task.completed').filter(({ data }) => data.task !== 'tick');
    expect(begun).toHaveLength(3);
    for (const [at, { atMs }] of begun.slice(1).entries())
      expect(atMs - (ended[at]?.atMs ?? 0)).toBeGreaterThanOrEqual(400);
  });

  it('ends when it has spent what it may', async () => {
    const { output, usage } = await settle({ plan: 'spender' });
    expect(output).toMatchObject({ ask: { iterations: 3, exit: 'budget' } });
    expect(usage.costNanoUsd).toBe(3 * perCallNanoUsd);
  });
});

describe('a plan from a model', () => {
  it('goes back with what is wrong, and runs when it is right', async () => {
    const { output, session } = await settle({ plan: 'planned-twice', goal: 'Say it.' });
    expect(output).toEqual({ a: { goal: 'Say it.' } });
    const [rejected, ...more] = dataOf(await eventsOf(session), 'plan.rejected');
    expect(more).toEqual([]);
    expect(rejected?.data).toMatchObject({ code: 'PLAN_INVALID', again: true });
    expect(JSON.stringify(bodyOf(rejected?.content.violations))).toContain('echo');
  });

  it('that never comes ends the goal, which says how often was asked and what that cost', async () => {
    const goal = harness.run({ plan: 'planned-never', goal: 'Say it.' });
    const failed = await goal.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(failed instanceof GoalFailedError)) throw new Error('it did not fail');
    const { result } = failed;
    sessions.push(result.session);
    expect(result.error?.code).toBe('PLAN_REJECTED');
    expect(result.error?.message).toContain('asked 3 times for 300000 nano-USD');
    expect(result.usage.costNanoUsd).toBe(3 * perCallNanoUsd);
    const lost = await settle({ plan: 'planned-lost', goal: 'Say it.' });
    expect(lost.error?.code).toBe('PLAN_REJECTED');
    expect(lost.error?.message).toMatch(/asked 2 times .*NO_ANSWER/);
  });

  it('is made anew where a task fails for good; what is done stays', async () => {
    const { output, session } = await settle({ plan: 'planned-anew', goal: 'Arrive.' });
    expect(output).toEqual({ sure: 'Arrive.', again: { after: 'Arrive.' } });
    const events = await eventsOf(session);
    expect(dataOf(events, 'plan.revised')[0]?.data).toMatchObject({ origin: 'model', revision: 1 });
    const sure = dataOf(events, 'task.scheduled').filter(({ data }) => data.task === 'sure');
    expect(sure).toHaveLength(1);
  });
});

/** The most places of a pool that the session had at once. */
function mostHeld(events: readonly SeenEvent[]): number {
  let held = 0;
  const counts = events.map((one) => {
    if (one.type === 'permit.granted') held += one.data.tasks.length;
    if (one.type === 'permit.returned') held -= one.data.tasks.length;
    return held;
  });
  return Math.max(0, ...counts);
}

describe('docs/plans.md', () => {
  it('word-report: counts side by side, and the checker gives it back once', async () => {
    const texts = ['one two', 'three', 'four five six seven eight nine ten eleven'];
    const { output, session } = await settle({ plan: 'word-report', inputs: { texts } });
    expect(output).toEqual({ report: 'about 10 words' });
    const reports = dataOf(await eventsOf(session), 'task.scheduled').filter(
      ({ data }) => data.agent === 'reporter',
    );
    expect(reports).toHaveLength(2);
  });

  it('ask-narrow: as many at a time as the tenant may, and of a key as many as the pool says', async () => {
    const most = async (goal: GoalRequest) =>
      mostHeld(await eventsOf((await settle(goal)).session));
    const [acme, bolt, keyed, free] = await Promise.all([
      most({ plan: 'ask-narrow', tenant: 'acme' }),
      most({ plan: 'ask-narrow', tenant: 'bolt' }),
      most({ plan: 'by-key', key: `one-${process.pid}` }),
      most({ plan: 'by-key' }),
    ]);
    // Of what ends at once fewer may run side by side than are allowed.
    expect(acme).toBeLessThanOrEqual(2);
    expect(bolt).toBe(1);
    expect([keyed, free]).toEqual([1, 3]);
  });
});

it('batch-classifier: the budget is a cap: what it does not pay for is not asked, and the result says so', async () => {
  const inputs = { path: 'deploy/examples/data/messages-short.json' };
  const budgetNanoUsd = 20 * perCallNanoUsd;
  const result = await settle({ plan: 'batch-classifier', inputs, budgetNanoUsd });
  expect(result).toMatchObject({ status: 'failed', error: { code: 'BRANCHES_FAILED' } });
  expect(result.error?.message).toContain("0 of the goal's budget are left");
  const calls = stub.of('label').length;
  expect(result.usage.costNanoUsd).toBe(calls * perCallNanoUsd);
  // Each message needs two: so many fit that the whole budget is used, and never one more.
  expect(calls).toBe(20);
});

it('every session of these can be computed again from its log', async () => {
  await expectVerified(stack, sessions);
});
