import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../schemas/json.ts';
import { keysTopic } from '../../../../schemas/topics.ts';
import { MemoryWorld, type Published } from '../../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../../support/world-proof.ts';

/** Goals of one key that wake the loop of the session that has it, with every service. */

const plan = (name: string, exit: string): string => `
name: ${name}
version: 1.0.0
description: Looks at what comes.
inputs: { last: { type: boolean, default: false } }
tasks:
  - id: watch
    pool: analysis
    agent: looker
    input: { goals: =goals, previous: =previous }
    loop: { wake: { goalsOfKey: true }, exit: ${exit} }
output: { kind: collect }
`;

const read = () =>
  catalogWith({
    'agents/looker.yaml': `
kind: procedure
name: looker
version: 1.0.0
description: Takes a while, and tells what it saw.
role: tester
tools: [test.wait]
steps:
  - { id: wait, tool: test.wait, arguments: { waitMs: 300 } }
output:
  saw: =[$append(input.previous.saw, input.goals.goal)]
  last: =true in input.goals.inputs.last
`,
    'plans/watch.yaml': plan('watch', '{ when: output.last, deadlineMs: 60000 }'),
    'plans/glance.yaml': plan('glance', '{ iterationsMax: 1 }'),
    'plans/twice.yaml': plan('twice', '{ iterationsMax: 2, deadlineMs: 5000 }'),
  });

let catalog: ReturnType<typeof read> | undefined;
const start = (options: Partial<Parameters<typeof MemoryWorld.start>[0]> = {}) => {
  catalog ??= read();
  return MemoryWorld.start({ catalog, ...options });
};

const goal = (id: string, more: JsonObject = {}) => ({
  ...{ id, goal: `Look at ${id}.`, plan: 'watch', key: 'shop' },
  ...more,
});

/** Results by goal; more than one of a goal would be a mistake of its own. */
function resultsOf(world: MemoryWorld): Readonly<Record<string, JsonObject>> {
  const results = new Map<string, JsonObject>();
  for (const result of world.results()) {
    const id = String(result['goalId']);
    if (results.has(id)) expect(result).toEqual(results.get(id));
    results.set(id, result);
  }
  return Object.fromEntries(results);
}

/** Where a goal went: `own` session, or taken by which one. */
function wayOf({ takenBy }: JsonObject): string {
  return takenBy === undefined ? 'own' : String((takenBy as JsonObject)['session']);
}

/** Goal logs of which nobody has said that they are over; a goal that was read twice is there after its end too. */
function openGoals(world: MemoryWorld): readonly string[] {
  const types = new Map<string, string>();
  for (const { headers } of world.records(keysTopic)) {
    const log = headers['ce_subject'] ?? '';
    types.set(log, `${types.get(log) ?? ''} ${headers['lr_types'] ?? ''}`);
  }
  const open = [...types].filter(([, said]) => !said.includes('session.closed'));
  return open.map(([log]) => log).filter((log) => log.startsWith('goal_'));
}

async function finish(world: MemoryWorld): Promise<void> {
  expect(await world.runUntilDone()).toBe(true);
  await world.clock.run(3_000);
  expect(openGoals(world)).toEqual([]);
}

/** What the iterations of a session saw, one list each. */
const seenBy = (proof: WorldProof) =>
  proof.all('task.expanded').flatMap(({ content }) => {
    const scopes = content.scopes.body as readonly JsonObject[];
    return scopes.map((scope) => (scope['goals'] as JsonObject[]).map(({ goal: said }) => said));
  });

describe('a loop that goals of its key wake', () => {
  it('begins with its own goal, and then sees all that came meanwhile', async () => {
    const world = await start();
    const first = world.publishGoal(goal('one'));
    await world.clock.run(200);
    for (const id of ['two', 'three']) world.publishGoal(goal(id));
    await world.clock.run(5_000);
    world.publishGoal(goal('four', { inputs: { last: true } }));
    await finish(world);
    const proof = await WorldProof.of(world, first);
    const [own, meanwhile = [], last] = seenBy(proof);
    expect([own, last]).toEqual([['Look at one.'], ['Look at four.']]);
    expect([...meanwhile].sort()).toEqual(['Look at three.', 'Look at two.']);
    const { one, ...others } = resultsOf(world);
    expect(one).toMatchObject({ status: 'completed', output: { watch: { iterations: 3 } } });
    const taken = Object.values(others).map(({ status, takenBy }) => [status, takenBy]);
    const by = (iteration: number) => ({ session: first.session, task: 'watch', iteration });
    expect(taken).toEqual([
      ['completed', by(2)],
      ['completed', by(2)],
      ['completed', by(3)],
    ]);
    await world.stop();
  });

  it('needs a key', async () => {
    const world = await start();
    const { key: _none, ...plain } = goal('one');
    world.publishGoal(plain);
    await finish(world);
    expect(world.results()[0]).toMatchObject({ status: 'failed', error: { code: 'KEY_MISSING' } });
    await world.stop();
  });

  it('gives back what waits when its session is cancelled: each runs by itself then', async () => {
    const world = await start();
    const first = world.publishGoal(goal('one', { plan: 'watch' }));
    await world.clock.run(200);
    const others = ['two', 'three'].map((id) => world.publishGoal(goal(id, { plan: 'glance' })));
    await world.clock.run(50);
    world.publishCancel('one');
    await finish(world);
    const proof = await WorldProof.of(world, first);
    expect(proof.all('wake.settled').map(({ data }) => data.outcome)).toEqual([
      'returned',
      'returned',
    ]);
    const results = resultsOf(world);
    expect(results['one']?.['status']).toBe('cancelled');
    for (const id of ['two', 'three']) {
      expect(results[id]).toMatchObject({ status: 'completed' });
      expect(wayOf(results[id] ?? {})).toBe('own');
    }
    for (const one of others) await WorldProof.of(world, one);
    await world.stop();
  });

  it('lets a goal go that is called off before it got there', async () => {
    const world = await start();
    world.publishGoal(goal('one', { plan: 'glance' }));
    await world.clock.run(100);
    world.publishGoal(goal('two', { plan: 'glance' }));
    world.publishCancel('two');
    await finish(world);
    const { two = {} } = resultsOf(world);
    expect(['cancelled', 'completed']).toContain(two['status']);
    await world.stop();
  });
});

/** Every goal has its one result, and none is in two places. */
async function expectOnePlaceEach(
  world: MemoryWorld,
  goals: readonly Published[],
): Promise<string[]> {
  const results = resultsOf(world);
  expect(Object.keys(results).sort()).toEqual(goals.map(({ goalId }) => goalId).sort());
  const ways = goals.map(({ goalId }) => wayOf(results[goalId] ?? {}));
  const own = goals.filter((_, index) => ways[index] === 'own');
  const proofs = await Promise.all(own.map((one) => WorldProof.of(world, one)));
  const seen = proofs.flatMap((proof) =>
    proof.all('wake.settled').filter(({ data }) => data.outcome === 'taken'),
  );
  const takenIds = seen.map(({ data }) => data.goalId).sort();
  const taken = goals.filter((_, index) => ways[index] !== 'own').map(({ goalId }) => goalId);
  expect(takenIds).toEqual(taken.sort());
  return ways;
}

describe('a goal that comes while an iteration begins, or the loop ends', () => {
  const around = [200, 310, 330, 340, 360, 640, 670, 700];

  it.each([
    ['one host', [['all']]],
    [
      'hosts apart',
      [
        ['intake', 'tool-guard', 'aggregator'],
        ['supervisor', 'planner', 'worker-pool', 'tool-runner', 'model-gateway'],
      ],
    ],
  ])('wakes it or runs by itself, and is never lost (%s)', async (_name, hosts) => {
    const ways: string[] = [];
    for (const afterMs of around) {
      const world = await start({ hosts });
      const twice = (id: string) => world.publishGoal(goal(id, { plan: 'twice' }));
      const goals = [twice('one')];
      await world.clock.run(100);
      goals.push(twice('two'));
      await world.clock.run(afterMs - 100);
      goals.push(twice('three'));
      await world.clock.run(2_000);
      goals.push(twice('four'));
      await finish(world);
      ways.push(...(await expectOnePlaceEach(world, goals)));
      await world.stop();
    }
    const places = ways.filter((_, index) => index % 4 === 2).map((way) => way === 'own');
    expect(new Set(places)).toEqual(new Set([true, false]));
  });

  it('also where a host dies on the way', async () => {
    for (const afterMs of [60, 200, 330, 380]) {
      const world = await start({ hosts: [['all'], ['all']], crashNoticedMs: 500 });
      const goals = [world.publishGoal(goal('one'))];
      await world.clock.run(100);
      goals.push(world.publishGoal(goal('two')), world.publishGoal(goal('three')));
      await world.clock.run(afterMs);
      world.crash('host-1');
      await world.clock.run(2_000);
      goals.push(world.publishGoal(goal('four', { inputs: { last: true } })));
      await finish(world);
      await expectOnePlaceEach(world, goals);
      await world.stop();
    }
  });
});
