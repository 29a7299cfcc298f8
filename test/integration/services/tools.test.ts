import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GoalDesk, type Result } from '../../support/goal-desk.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { stackUnderTest } from '../../support/live-stack.ts';
import { eventsOf, type SessionLog, SessionLogs } from '../../support/session-log.ts';

const stack = stackUnderTest();
const host = new LiveHost({ stack, eventStore: false });
let desk: GoalDesk;
let sessions: SessionLogs;

beforeAll(async () => {
  await host.ready();
  desk = await GoalDesk.open(stack);
  sessions = await SessionLogs.open(stack);
});
afterAll(async () => {
  await Promise.all([desk.close(), sessions.close()]);
  await host.remove();
});

type Ended = Readonly<{ result: Result; log: SessionLog }>;

async function run(goal: object): Promise<Ended> {
  const result = await desk.result(await desk.submit(goal));
  return { result, log: await sessions.closed(result.session) };
}

type Trouble = Readonly<{
  way: string;
  code: string;
  class: string;
  attempts: number;
  says: RegExp;
  plan?: string;
  text?: string;
}>;

const troubles: readonly Trouble[] = [
  { way: 'missing', code: 'TOOL_UNKNOWN', class: 'not-found', attempts: 1, says: /not\.there/ },
  { way: 'hang', code: 'MCP_TIMEOUT', class: 'timeout', attempts: 2, says: /deadline/ },
  { way: 'wait', code: 'TOOL_DEADLINE', class: 'timeout', attempts: 2, says: /deadline/ },
  { way: 'die', code: 'MCP_SERVER_DIED', class: 'crashed', attempts: 2, says: /out of luck/ },
  {
    way: 'die-writing',
    code: 'OUTCOME_UNKNOWN',
    class: 'unknown-outcome',
    attempts: 1,
    says: /may have happened/,
  },
  { way: 'flood', code: 'MCP_RESULT_TOO_LARGE', class: 'limit', attempts: 1, says: /Ask for less/ },
  { way: 'complain', code: 'MCP_TOOL_ERROR', class: 'tool-error', attempts: 1, says: /locked/ },
  { way: 'loop', code: 'SANDBOX_TIME', class: 'timeout', attempts: 1, says: /timeMs/ },
  { way: 'eat', code: 'SANDBOX_MEMORY', class: 'limit', attempts: 1, says: /memoryBytes/ },
  {
    way: 'throw',
    code: 'SANDBOX_CODE_THREW',
    class: 'tool-error',
    attempts: 1,
    says: /no such column/,
  },
  { way: 'print', code: 'SANDBOX_OUTPUT', class: 'limit', attempts: 1, says: /summary/ },
  {
    way: 'syntax',
    code: 'SANDBOX_CODE_SYNTAX',
    class: 'invalid-arguments',
    attempts: 1,
    says: /return/,
  },
  { way: 'foreign', code: 'ROLE_NOT_ALLOWED', class: 'denied', attempts: 1, says: /"auditor"/ },
  {
    way: 'small',
    text: 'x'.repeat(200),
    code: 'ARGUMENTS_TOO_LARGE',
    class: 'denied',
    attempts: 1,
    says: /limit is 100/,
  },
  { way: 'wrong', code: 'ARGUMENTS_INVALID', class: 'denied', attempts: 1, says: /counter/ },
  {
    way: 'hang',
    plan: 'trouble-in-time',
    code: 'TASK_TIMED_OUT',
    class: 'timeout',
    attempts: 2,
    says: /300/,
  },
];

describe('a call that goes wrong', () => {
  const ended: Ended[] = [];

  it.each(troubles)(
    'ends the session with $code ($way), after $attempts tries',
    async (trouble) => {
      const { way, text = '', plan = 'trouble' } = trouble;
      const inputs = plan === 'trouble' ? { way, text } : { way };
      const { result, log } = await run({ plan, inputs });
      ended.push({ result, log });
      expect(result.status).toBe('failed');
      expect(result.error).toMatchObject({ code: trouble.code, task: 'trouble' });
      expect(result.error?.message).toMatch(trouble.says);
      const [abandoned, ...more] = eventsOf(log, 'task.abandoned');
      expect(more).toEqual([]);
      const { code, attempts } = trouble;
      expect(abandoned?.data).toMatchObject({ code, class: trouble.class, attempts });
      expect(eventsOf(log, 'task.retry-scheduled')).toHaveLength(attempts - 1);
    },
  );

  it('leaves nothing open behind', () => {
    expect(ended).toHaveLength(troubles.length);
    for (const { log } of ended) {
      const calls = eventsOf(log, 'tool.requested');
      const answers = eventsOf(log, 'tool.permitted').length + eventsOf(log, 'tool.denied').length;
      expect(answers).toBe(calls.length);
      expect(eventsOf(log, 'agent.cleaned-up')).toHaveLength(eventsOf(log, 'agent.created').length);
      expect(eventsOf(log, 'sandbox.released')).toHaveLength(
        eventsOf(log, 'sandbox.leased').length,
      );
    }
  });
});

describe('what a plan does about it', () => {
  it('goes on without a task that it can do without, and without what needs that task', async () => {
    const { result, log } = await run({ plan: 'trouble-aside', inputs: { way: 'throw' } });
    expect(result).toMatchObject({
      status: 'completed',
      output: { trouble: null, after: null, beside: 'beside' },
    });
    expect(eventsOf(log, 'task.skipped').map(({ data }) => data)).toEqual([
      { task: 'after', because: 'trouble' },
    ]);
  });

  it('tells a model why a call was denied, and what to call instead', async () => {
    const { result, log } = await run({ plan: 'stray' });
    expect(result.status).toBe('completed');
    const said = (result.output as { stray: string }).stray;
    expect(said).toMatch(/no tool "test\.ecko".*Use "test\.echo"/);
    expect(eventsOf(log, 'tool.denied')[0]?.data).toMatchObject({ code: 'TOOL_UNKNOWN' });
    expect(eventsOf(log, 'tool.claimed')).toEqual([]);
  });

  it('is refused before it begins where a tool is riskier than the goal allows', async () => {
    const inputs = { way: 'count', text: 'c-risk' };
    const { result, log } = await run({ plan: 'trouble', inputs, riskMax: 'low' });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'PLAN_REJECTED' } });
    expect(result.error?.message).toMatch(/test\.count.*medium/);
    expect(eventsOf(log, 'task.scheduled')).toEqual([]);
  });

  it('counts what has an effect once', async () => {
    const counter = `c-${randomUUID()}`;
    const { result, log } = await run({ plan: 'count', inputs: { counter } });
    expect(result.status).toBe('completed');
    const lines = readFileSync(join(host.stateDir, 'counters', `${counter}.log`), 'utf8');
    const calls = eventsOf(log, 'tool.claimed').filter(({ data }) => data.tool === 'test.count');
    expect(lines.trim().split('\n').sort()).toEqual(calls.map(({ data }) => data.call).sort());
    expect(calls).toHaveLength(3);
  });

  it('ends with the time that the goal may take', async () => {
    const inputs = { counter: `c-${randomUUID()}`, waitMs: 60_000 };
    const { result } = await run({ plan: 'count', inputs, timeoutMs: 500 });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'SESSION_TIMEOUT' } });
  });
});
