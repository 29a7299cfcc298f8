import { event, json, text } from '../../../schemas/event.ts';
import { sessionId } from '../../chassis/protocol/ids.ts';
import { modelCall, toolCall, type Work } from './calls.ts';
import { labelSets, people, type SampleAgent, sampleAgents, sampleTenants } from './company.ts';
import type { Dice } from './dice.ts';
import { asksPeople, tellQuestion, waitsForPeople } from './questions.ts';
import type { Owner, Script } from './script.ts';

export type Story = Readonly<{
  script: Script;
  dice: Dice;
  number: number;
  openedAtMs: number;
  release: string;
  /** It has not ended yet. */
  runs: boolean;
}>;

type Ended = 'completed' | 'failed' | 'cancelled';

/** Fixed shares, so that a small sample has some of each. */
function endOf(number: number): Ended {
  if (number % 23 === 7) return 'cancelled';
  return number % 14 === 3 ? 'failed' : 'completed';
}

/** One session from its opening to its end, with a late answer after some that were cancelled. */
export function tellSession(story: Story): void {
  const { script, dice, number, openedAtMs } = story;
  const owner = ownerOf(story);
  const end = endOf(number);
  script.input(owner, openedAtMs, opening(story, owner.session));
  const agents = sampleAgents.filter((_, index) => index === number % 4 || dice.chance(0.4));
  const tasks = agents.map(({ name }) => name);
  const plan = { plan: tasks.join('-'), version: '1', digest: `plan-${tasks.join('-')}` };
  script.turn(owner, openedAtMs + 20, [
    'planner',
    event('plan.accepted', { ...plan, tasks: [] }, { plan: json({}), catalog: json({}) }),
  ]);
  let atMs = openedAtMs + dice.between(30, 120);
  for (const [index, agent] of agents.entries()) {
    const last = index === agents.length - 1;
    const fails = last && end === 'failed';
    atMs = tellTask({ ...story, owner, agent, fails, startsAtMs: atMs });
    if (waitsForPeople(number, story.runs)) break;
    if (last && end === 'cancelled') break;
  }
  tellEnd({ ...story, owner, end, atMs });
}

function ownerOf({ number, dice, release }: Story): Owner {
  const tenant = sampleTenants[number % 10 < 6 ? 0 : number % 10 < 9 ? 1 : 2] as string;
  const labels = labelSets[number % labelSets.length] ?? {};
  const session = sessionId(tenant, 'sample', `goal-${number}`);
  return { session, tenant, principal: dice.pick(people), labels, release };
}

function opening({ number, openedAtMs, dice }: Story, session: string) {
  const value = number % 10 < 7 ? { valueNanoUsd: dice.between(1, 40) * 10_000_000 } : {};
  const lane = number % 9 === 0 ? 'bulk' : 'normal';
  return event(
    'session.opened',
    {
      ...({ goalId: `goal-${number}`, source: 'sample', priority: lane, lane } as const),
      ...{ goalLog: `goal_${session}`, openedAtMs, budgetNanoUsd: 500_000_000, ...value },
    },
    { goal: text('A goal of the sample.') },
  );
}

type TaskStory = Story &
  Readonly<{ owner: Owner; agent: SampleAgent; fails: boolean; startsAtMs: number }>;

/** Up to two tries. Returns when it was settled. */
function tellTask(story: TaskStory): number {
  const { script, owner, agent, fails, dice } = story;
  const task = agent.name;
  const isTriedAgain = !waitsForPeople(story.number, story.runs) && (fails || dice.chance(0.07));
  const tries = isTriedAgain ? 2 : 1;
  let atMs = story.startsAtMs;
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    const isLast = attempt === tries;
    atMs = tellTry(story, { task, attempt, atMs, fails: !isLast || fails });
    if (isLast) break;
    const dueAtMs = atMs + 1_000;
    const again = event('task.retry-scheduled', {
      task,
      attempt: attempt + 1,
      dueAtMs,
      code: 'CRASHED',
    });
    script.turn(owner, atMs, ['supervisor', again]);
    atMs = dueAtMs;
  }
  if (!fails) return atMs;
  const given = { task, attempts: tries, code: 'CRASHED', class: 'crashed' } as const;
  const abandoned = event('task.abandoned', given, { message: text('It crashed twice.') });
  script.turn(owner, atMs, ['supervisor', abandoned]);
  return atMs;
}

type Try = Readonly<{ task: string; attempt: number; atMs: number; fails: boolean }>;

function tellTry(story: TaskStory, { task, attempt, atMs, fails }: Try): number {
  const { script, owner, agent, dice } = story;
  const deadlineAtMs = atMs + 600_000;
  const where = { pool: agent.pool, agent: agent.name, priority: 1, deadlineAtMs };
  const scheduled = event('task.scheduled', { task, attempt, ...where }, { input: json({}) });
  script.turn(owner, atMs, ['supervisor', scheduled]);
  const agentId = `${task}.${attempt}`;
  const startsAtMs = atMs + dice.between(5, dice.chance(0.1) ? 9_000 : 200);
  const created = event('agent.created', {
    ...({
      agent: agentId,
      task,
      attempt,
      name: agent.name,
      version: '1.0.0',
      kind: 'model',
    } as const),
    pool: agent.pool,
  });
  const started = event('agent.started', { agent: agentId });
  script.turn(owner, startsAtMs, ['worker-pool', created, started]);
  const place = { agentId, task, attempt, step: 0, calls: 0, atMs: startsAtMs + 5 };
  const work: Work = { script, owner, dice, agent, ...place };
  const isOpen = waitsForPeople(story.number, story.runs);
  if (attempt === 1 && (isOpen || asksPeople(story.number))) {
    const { name } = agent;
    const asking = { script, owner, number: story.number, name, agent: agentId, task, attempt };
    const goesOnAtMs = tellQuestion({ ...asking, atMs: work.atMs }, isOpen);
    if (goesOnAtMs === undefined) return work.atMs;
    work.atMs = goesOnAtMs;
  }
  takeSteps(work);
  const ended = fails
    ? event(
        'task.failed',
        { task, attempt, agent: agentId, code: 'CRASHED', class: 'crashed', retryable: true },
        { message: text('The agent crashed.') },
      )
    : event('task.completed', { task, attempt, agent: agentId }, { output: json({ done: true }) });
  script.turn(owner, work.atMs, ['worker-pool', ended]);
  return work.atMs + 5;
}

function takeSteps(work: Work): void {
  const { dice, agent } = work;
  const loops = dice.chance(0.04);
  const steps = loops ? 8 : dice.between(...agent.steps);
  for (let step = 1; step <= steps; step += 1) {
    work.step = step;
    modelCall(work);
    const tools = loops ? 1 : dice.between(0, 2);
    for (let count = 0; count < tools; count += 1) {
      toolCall(work, dice.pick(agent.tools), loops ? 'the-same' : `file-${step}-${count}`);
    }
  }
}

type EndStory = Story & Readonly<{ owner: Owner; end: Ended; atMs: number }>;

function tellEnd(story: EndStory): void {
  const { script, owner, end, atMs, number, openedAtMs, runs } = story;
  if (runs) return;
  if (end === 'cancelled') {
    tellCancel(story);
    return;
  }
  const goal = { goalId: `goal-${number}`, goalLog: `goal_${owner.session}` };
  const sums = { inputTokens: 0, outputTokens: 0, costNanoUsd: 0, openedAtMs, endedAtMs: atMs };
  const counts = { completed: end === 'completed' ? 1 : 0, failed: 0, skipped: 0 };
  const ended =
    end === 'failed'
      ? event('session.failed', { code: 'TASK_ABANDONED' }, { message: text('A task failed.') })
      : event(
          'session.completed',
          { ...counts, contradictions: 0 },
          { output: json({ ok: true }) },
        );
  const service = end === 'failed' ? 'supervisor' : 'aggregator';
  script.turn(owner, atMs, [service, ended]);
  const published = event(
    'result.published',
    { status: end, ...goal, ...sums },
    { output: json({ ok: end === 'completed' }) },
  );
  script.turn(owner, atMs + 3, ['aggregator', published]);
  script.turn(owner, atMs + 20, ['supervisor', event('session.closed', {})]);
}

/** A model call was on its way: it is paid for and comes too late. */
function tellCancel({ script, owner, atMs }: EndStory): void {
  const call = `call_late_${owner.session}`;
  const deadlineAtMs = atMs + 60_000;
  const model = sampleAgents[1]?.model.model ?? '';
  const claimed = event('model.claimed', { call, attempt: 1, model, deadlineAtMs });
  const claim = `${script.turn(owner, atMs, ['model-gateway', claimed])}#0`;
  const requested = event('session.cancel-requested', { requestedBy: 'mary' });
  script.input(owner, atMs + 500, requested);
  const ended = event('session.cancelled', { requestedBy: 'mary' });
  script.turn(owner, atMs + 520, ['supervisor', ended]);
  script.turn(owner, atMs + 700, ['supervisor', event('session.closed', {})]);
  const spent = {
    ...{ inputTokens: 2_400, outputTokens: 310, cacheReadTokens: 0, cacheWriteTokens: 0 },
    ...{ reasoningTokens: 0, costNanoUsd: 6_100_000, costKnown: true, durationMs: 4_200 },
    priceVersion: 'sample-prices@1',
  };
  const late = event(
    'model.completed',
    {
      call,
      claim,
      attempt: 1,
      provider: 'openai',
      model,
      finishReason: 'stop',
      toolCalls: 0,
      ...spent,
    },
    { message: json({ role: 'model', text: 'Too late.' }) },
  );
  script.input(owner, atMs + 4_200, late);
}
