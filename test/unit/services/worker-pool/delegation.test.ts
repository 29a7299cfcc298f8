import { describe, expect, test } from 'vitest';
import { costOf } from '../../../../replay-tools/cost/cost.ts';
import { costLines } from '../../../../replay-tools/cost/cost-text.ts';
import { dagOf } from '../../../../replay-tools/dag/dag.ts';
import { dagLines } from '../../../../replay-tools/dag/dag-text.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import { type Asked, callOf, tally, told } from '../../../support/giving-agents.ts';
import type { FakeModel, FakeModelAnswer } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, startsOf, WorldProof } from '../../../support/world-proof.ts';

const chief = (more = '') => `
kind: model
name: chief
version: 1.0.0
description: Gives work to others.
role: tester
tools: [test.echo, test.count, delegate]
model: scripted/chief
prompt: ="Do " & input.what
delegates:
  agents: [worker, tally, chief]
${more}
`;

const worker = (more = '') => `
kind: model
name: worker
version: 1.0.0
description: Works.
role: tester
model: scripted/worker
prompt: =input.goal
${more}
`;

const plan = (task = '') => `
name: chief
version: 1.0.0
description: One task.
tasks:
  - { id: one, pool: test, agent: chief, attemptsMax: 1, input: { what: it }, ${task} }
output: { kind: collect, shape: =tasks.one }
`;

type Files = Readonly<{ chief?: string; worker?: string; task?: string }>;

const files = ({ chief: ofChief, worker: ofWorker, task }: Files) => ({
  'agents/chief.yaml': chief(ofChief),
  'agents/worker.yaml': worker(ofWorker),
  'agents/tally.yaml': tally,
  'plans/chief.yaml': plan(task),
});

const delegateTo = (agent: string, more: JsonObject = {}) =>
  callOf('delegate', { agent, goal: `Work for ${agent}.`, ...more });

/** The chief makes these calls in its first answers, and then says what it was told. */
const chiefWith =
  (...answers: readonly (readonly ReturnType<typeof callOf>[])[]): FakeModel =>
  (request): FakeModelAnswer => {
    if (request.model === 'scripted/worker') return { text: `done: ${textOf(request)}` };
    const at = request.messages.filter(({ role }) => role === 'assistant').length;
    const calls = answers[at];
    return calls === undefined ? { text: JSON.stringify(told(request)) } : { text: '', calls };
  };

const textOf = ({ messages }: Asked): string =>
  messages.flatMap((one) => (one.role === 'user' ? [one.text] : [])).join(' ');

async function run(of: Files, model: FakeModel, goal: JsonObject = {}) {
  const world = await MemoryWorld.start({ catalog: catalogWith(files(of)), model });
  const published = world.publishGoal({ id: 'g', goal: 'Do it.', plan: 'chief', ...goal });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.fatal).toEqual([]);
  const [result] = world.results();
  return { world, result, proof: await WorldProof.of(world, published) };
}

const outputOf = (result: JsonObject | undefined): JsonValue =>
  JSON.parse(String(result?.['output'])) as JsonValue;

describe('delegate', () => {
  test('two agents work side by side; their results are those of the calls, in their order', async () => {
    const calls = [delegateTo('worker'), delegateTo('tally', { input: { counter: 'a' } })];
    const { world, result, proof } = await run({}, chiefWith(calls));
    expect(outputOf(result)).toEqual([
      'done: Work for worker.',
      { counted: 'a', goal: 'Work for tally.' },
    ]);
    expect(startsOf(world, 'test.count')).toBe(1);
    const scheduled = proof.all('task.scheduled').map(({ data }) => data.task);
    expect(scheduled).toEqual(['one', 'one/1', 'one/2']);
    const settled = proof.all('delegation.settled').map(({ data }) => data);
    expect(settled).toHaveLength(2);
    expect(settled).toContainEqual(
      expect.objectContaining({ delegated: 'one/1', to: 'worker', costNanoUsd: 1_022 }),
    );
    expect(settled).toContainEqual(
      expect.objectContaining({ delegated: 'one/2', to: 'tally', costNanoUsd: 0 }),
    );
    expect(world.unclosed()).toEqual([]);
    const history = new History(proof.judged);
    expect(dagLines(dagOf(history)).join('\n')).toMatch(
      /● one .*\n *└─ ● one\/1 .* worker of test {2}delegated by one\n/,
    );
    expect(costLines(costOf(history, 'agent'))).toContain(
      '$0.000001022 of it: one.1 delegated one/1 to worker (completed).',
    );
  });

  test('what is not allowed comes back from the guard with the right way, and nothing is made of it', async () => {
    const calls = [
      ...[delegateTo('wroker'), delegateTo('worker', { budgetPercent: 80 })],
      callOf('delegate', { agent: 'worker' }),
    ];
    const { result, proof } = await run({}, chiefWith(calls, [delegateTo('worker')]));
    expect(proof.all('tool.denied').map(({ data }) => data.code)).toEqual(
      expect.arrayContaining(['DELEGATE_UNKNOWN', 'DELEGATION_TOO_DEAR', 'ARGUMENTS_INVALID']),
    );
    expect(JSON.stringify(outputOf(result))).toContain('Did you mean \\"worker\\"?');
    expect(proof.all('task.delegated')).toHaveLength(1);
    expect(result).toMatchObject({ status: 'completed' });
  });

  test('nobody delegates deeper than anybody above allows', async () => {
    const model: FakeModel = (request) =>
      told(request).length === 0
        ? { text: '', calls: [delegateTo('chief', { input: { what: 'that' } })] }
        : { text: JSON.stringify(told(request)) };
    const { result, proof } = await run({ chief: '  depthMax: 2' }, model);
    expect(proof.all('task.delegated').map(({ data }) => [data.delegated, data.depth])).toEqual([
      ['one/1', 1],
      ['one/1/1', 2],
    ]);
    expect(proof.all('tool.denied').map(({ data }) => data.code)).toEqual(['DELEGATION_TOO_DEEP']);
    expect(result).toMatchObject({ status: 'completed' });
  });

  test('no more of them work at a time than the template says', async () => {
    const calls = Array.from({ length: 3 }, (_, index) =>
      delegateTo('tally', { input: { counter: `c${index}` } }),
    );
    const { result, proof } = await run(
      { chief: '  parallelMax: 1\n  countMax: 2' },
      chiefWith(calls),
    );
    expect(result).toMatchObject({ status: 'completed' });
    expect(proof.all('tool.denied').map(({ data }) => data.code)).toEqual(['DELEGATIONS_SPENT']);
    const order = proof.events.flatMap(({ type, data }) =>
      (type === 'task.scheduled' || type === 'task.completed') && data.task !== 'one'
        ? [`${type} ${data.task}`]
        : [],
    );
    expect(order).toEqual([
      ...['task.scheduled one/1', 'task.completed one/1'],
      ...['task.scheduled one/2', 'task.completed one/2'],
    ]);
  });

  test('a delegate that fails is told to who waits for it, after its own attempts', async () => {
    const model: FakeModel = (request) =>
      request.model === 'scripted/worker'
        ? { failure: { code: 'NO', retryable: false, message: 'It cannot be done.' } }
        : chiefWith([delegateTo('worker')])(request, 1);
    const { result, proof } = await run({}, model);
    expect(JSON.stringify(outputOf(result))).toContain('It cannot be done.');
    expect(proof.all('delegation.settled').map(({ data }) => data)).toMatchObject([
      { outcome: 'failed', code: 'NO' },
    ]);
  });

  test('the end of who delegated stops the delegates, and theirs', async () => {
    const model: FakeModel = (request) => {
      if (request.model === 'scripted/worker') return { text: 'late', afterMs: 3_000_000 };
      return told(request).length > 0
        ? { text: 'over' }
        : {
            text: '',
            calls: [delegateTo('worker'), delegateTo('chief', { input: { what: 'that' } })],
          };
    };
    const { result, proof } = await run({ task: 'timeoutMs: 20000' }, model);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'TASK_TIMED_OUT' } });
    const scheduled = proof.all('task.scheduled').map(({ data }) => data);
    expect(new Set(scheduled.map(({ deadlineAtMs }) => deadlineAtMs)).size).toBe(1);
    // Nobody works, and nobody asks a model, once it is over.
    const created = proof.all('agent.created').map(({ data }) => data.agent);
    const gone = proof.all('agent.cleaned-up').map(({ data }) => data.agent);
    expect([...gone].sort()).toEqual([...created].sort());
  });
});

describe('the money of delegates', () => {
  const spends: FakeModel = (request) =>
    request.model === 'scripted/worker' && told(request).length === 0
      ? { text: 'w' }
      : chiefWith([delegateTo('worker'), delegateTo('worker')])(request, 1);

  test('is set aside of what the goal has left, and what is not spent comes back', async () => {
    const { result, proof } = await run({}, spends, { budgetNanoUsd: 10_000_000 });
    expect(result).toMatchObject({ status: 'completed' });
    const aside = proof.all('budget.set-aside').map(({ data }) => data);
    expect(aside).toMatchObject([{ task: 'one/1' }, { task: 'one/2' }]);
    const [first, second] = aside;
    expect(first?.setAsideNanoUsd).toBe(Math.floor((10_000_000 - 1_000) / 2));
    expect(second?.setAsideNanoUsd).toBe(Math.floor((first?.leftNanoUsd ?? 0) / 2));
    const last = proof.all('budget.reserved').at(-1)?.data;
    const spent = proof
      .all('model.completed')
      .slice(0, -1)
      .reduce((sum, { data }) => sum + data.costNanoUsd, 0);
    expect((last?.leftNanoUsd ?? 0) + (last?.reservedNanoUsd ?? 0) + spent).toBe(10_000_000);
  });

  test('is a part of what the agent itself may cost', async () => {
    const { result, proof } = await run({ chief: 'costNanoUsdMax: 2000000' }, spends);
    expect(result).toMatchObject({ status: 'completed' });
    const delegated = proof.all('task.delegated').map(({ data }) => data.budgetNanoUsdMax);
    expect(delegated).toEqual([999_500, 499_750]);
  });

  test('where nothing is left, the agent is told so', async () => {
    const { proof } = await run({ chief: 'costNanoUsdMax: 1001' }, spends);
    expect(proof.all('task.abandoned').map(({ data }) => data.code)).toContain('DELEGATION_BUDGET');
    expect(
      proof.all('model.completed').filter(({ data }) => data.model === 'scripted/worker'),
    ).toEqual([]);
  });
});
