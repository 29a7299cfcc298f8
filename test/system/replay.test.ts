import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { cliIn } from '../support/cli-process.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, fixture, stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';

/** Every verb of `longrein replay` on sessions that really ran, and a failed one that really goes on. */

const stack = stackUnderTest();
const place = mkdtempSync(join(tmpdir(), 'longrein-replay-'));
const file = 'list.json';

const catalog = temporaryCatalog({
  'plans/read-list.yaml': `name: read-list
version: 1.0.0
description: Reads a list from a file.
inputs:
  path: { type: string, description: The file. }
tasks:
  - { id: read, pool: test, agent: list-reader, input: { path: =inputs.path }, attemptsMax: 1 }
output: { kind: collect }
`,
  'agents/muser.yaml': `kind: model
name: muser
version: 1.0.0
description: Asks once for a tool and then gets no answer any more.
role: tester
tools: [test.echo]
model: muser
prompt: '="Write to " & input.to'
`,
  'plans/muse.yaml': `name: muse
version: 1.0.0
description: One task for a model that fails at its second call.
inputs:
  to: { type: string, description: An address. }
tasks:
  - { id: muse, pool: test, agent: muser, input: { to: =inputs.to }, attemptsMax: 1 }
output: { kind: collect }
`,
  'agents/gate.yaml': `kind: procedure
name: gate
version: 1.0.0
description: Asks a person.
role: tester
tools: [ask_person]
steps: [{ id: ask, tool: ask_person, arguments: { question: May it go out? } }]
output: =steps.ask.answer
person: { to: on-call }
`,
  'plans/gate.yaml': `name: gate
version: 1.0.0
description: One task that waits for a person.
tasks:
  - { id: gate, pool: test, agent: gate }
output: { kind: collect }
`,
  'models.yaml': 'muser: scripted/muser\n',
  'scripts/muser.yaml': `- model: muser
  when: step = 0
  answer:
    toolCalls:
      - { name: test.echo, arguments: { said: hello } }
- model: muser
  failure: { class: invalid-request, code: NO_ANSWER, message: Nobody thinks., retryable: false }
`,
});
const address = 'elfriede@planted.example';
const cli = cliIn(join(place, 'state'), {
  LONGREIN_BROKERS: stack.brokers.join(','),
  LONGREIN_REGISTRY_URL: stack.registryUrl,
  LONGREIN_CLICKHOUSE_URL: stack.clickhouseUrl,
  LONGREIN_BLOB_DIR: stack.blobDir,
});

async function replay(...argv: readonly string[]) {
  const { code, stdout, stderr } = await cli('replay', ...argv);
  return { code, text: stdout + stderr };
}

async function replayed(...argv: readonly string[]) {
  const { code, stdout, stderr } = await cli('replay', ...argv, '--json');
  if (stdout === '') throw new Error(stderr);
  return { code, document: JSON.parse(stdout) as Record<string, never> };
}

let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;
let failed: string;
let mused: string;
let cancelled: string;
let retried: string;

beforeAll(async () => {
  const env = { LONGREIN_WORKSPACE: place };
  const directories = [examples, fixture('catalog'), fixture('trouble'), catalog.path];
  host = await new LiveHost({ stack, env, catalog: directories }).ready();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
  const inputs = { path: file };
  const wrong = await desk.result(await desk.submit({ plan: 'read-list', inputs }));
  expect(wrong.status).toBe('failed');
  failed = wrong.session;
  const muse = await desk.submit({ plan: 'muse', inputs: { to: address } });
  mused = (await desk.result(muse)).session;
  const slow = await desk.submit({ plan: 'count', inputs: { counter: 'c', waitMs: 30_000 } });
  await desk.send({ cancel: slow });
  cancelled = (await desk.result(slow)).session;
  await Promise.all([failed, mused, cancelled].map((one) => logs.closed(one)));
});

afterAll(async () => {
  await Promise.all([desk.close(), logs.close()]);
  await host.remove();
  catalog.remove();
  rmSync(place, { recursive: true, force: true });
});

describe('what went wrong', () => {
  it('is shown, and its first failure is the answer of the tool', async () => {
    const [shown, first] = await Promise.all([
      replay('show', failed),
      replayed('first-failure', failed),
    ]);
    expect(shown.text).toContain('tool.failed');
    expect(JSON.stringify(first.document)).toContain('tool.failed');
    const why = await replay('why', failed, 'last');
    expect(why.text).toContain('session.opened');
  });

  it('can be seen as pictures', async () => {
    const [gantt, dag] = await Promise.all([
      replay('gantt', failed, '--svg', join(place, 'gantt.svg')),
      replay('dag', failed, '--svg', join(place, 'dag.svg')),
    ]);
    expect([gantt.code, dag.code]).toEqual([0, 0]);
    expect(readdirSync(place)).toEqual(expect.arrayContaining(['gantt.svg', 'dag.svg']));
  });
});

describe('the context of the agent that failed', () => {
  it('is kept by the event store, once, and named where people look first', async () => {
    const directory = join(stack.blobDir, 'contexts', mused);
    const names = () => (existsSync(directory) ? readdirSync(directory) : []);
    await expect.poll(names, { timeout: 60_000 }).toHaveLength(1);
    const { text } = await replay('show', mused);
    expect(text).toContain(`Context  kept in ${join(directory, names()[0] ?? '')}`);
    const window = { agent: 'muse.1', messages: expect.any(Array) };
    const kept = await replayed('context', mused, '--kept');
    expect(kept.document).toMatchObject({ session: mused, contexts: [{ context: window }] });
    const asked = await replayed('context', mused, '--unmasked');
    expect(JSON.stringify(asked.document)).toContain(address);
    expect(existsSync(join(stack.blobDir, 'contexts', failed))).toBe(false);
  });

  it('shows no address to who did not ask for it', async () => {
    for (const words of [
      ['context', mused],
      ['context', mused, '--kept'],
      ['show', mused],
    ]) {
      const { code, text } = await replay(...words);
      expect({ code, text: text.includes(address) }).toEqual({ code: 0, text: false });
    }
  });
});

describe('what it cost and what it did', () => {
  it('is counted by agent, and told effect by effect, from the log and from ClickHouse', async () => {
    const [cost, receipts] = await Promise.all([
      replayed('cost', mused),
      replayed('receipts', mused),
    ]);
    expect(cost.document).toMatchObject({ total: { calls: 3, failed: 1 } });
    expect(receipts.document).toMatchObject({
      ...{ signed: false, totals: { completed: 2, failed: 1, unknown: 0 } },
      receipts: [
        { kind: 'model', standing: 'completed' },
        { kind: 'tool', name: 'test.echo', decision: { answer: 'permitted', by: 'tool-guard' } },
        { kind: 'model', standing: 'failed' },
      ],
    });
    const rows = async () => (await replayed('receipts', mused, '--source', 'clickhouse')).document;
    expect(await rows()).toEqual(receipts.document);
    expect((await replay('receipts', mused)).text).toContain('NOT SIGNED');
  });

  it('is verified for all sessions of the day at once', async () => {
    const listed = async () =>
      (await replayed('verify', '--all', '--source', 'clickhouse')).document;
    await expect
      .poll(listed, { timeout: 60_000 })
      .toMatchObject({ unreadable: 0, differing: 0, sessions: expect.any(Number) });
    const day = new Date().toISOString().slice(0, 10);
    const today = await replayed('verify', '--all', '--day', day, '--tenant', 'default');
    expect(today.document).toMatchObject({ unreadable: 0, differing: 0 });
    expect((await replay('verify', '--all', '--tenant', 'nobody')).code).toBe(1);
  });
});

describe('a failed session that goes on live', () => {
  it('is refused where only one of tools and models is live', async () => {
    expect((await replay('retry', failed, '--tools', 'live')).code).toBe(2);
  });

  it('completes once the world is as it should be, as a session of its own', async () => {
    writeFileSync(join(place, file), '[1, 2]');
    const made = await replayed('retry', failed, '--tools', 'live', '--models', 'live');
    expect(made.code).toBe(0);
    retried = String(made.document['session']);
    const closed = await logs.closed(retried);
    const types = closed.events.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['tool.permitted', 'session.completed']));
    expect(types).not.toContain('plan.accepted');
    const { text } = await replay('show', retried);
    expect(text).toContain(`of ${failed} at `);
  });

  it('is compared with the one that it was forked from', async () => {
    const diff = await replay('diff', failed, retried);
    expect(diff.code).toBe(0);
    expect(diff.text).toContain('completed');
  });

  it('is a fork in ClickHouse too, with costs of its own, and is verified from there', async () => {
    const query = `SELECT fork_of, status FROM sessions WHERE session_id = '${retried}'`;
    const row = async () => (await cli('sql', query, '--format', 'csv')).stdout;
    await expect.poll(row, { timeout: 10_000 }).toContain(`${failed}`);
    await expect.poll(row, { timeout: 10_000 }).toContain('completed');
    const stored = await replayed('verify', retried, '--source', 'clickhouse');
    expect(stored.document).toMatchObject({ identical: true, complete: true });
  });
});

describe('a fork whose models alone are live', () => {
  it('asks the model again, answers the tool from the record, and runs none', async () => {
    const { document } = await replayed('show', mused, '--kind', 'model.completed');
    const [said] = document['events'] as unknown as { offset: number; index: number }[];
    const at = `${said?.offset}.${said?.index}`;
    const live = ['--tools', 'record', '--models', 'live'];
    const made = await replayed('fork', mused, '--at', at, ...live);
    expect(made.document).toMatchObject({ live: true, tools: { from: 'record', answers: 1 } });
    const { events } = await logs.closed(String(made.document['session']));
    const outcome = events.find(({ type }) => type === 'tool.completed');
    expect(outcome?.data).toMatchObject({ tool: 'test.echo', isolation: 'record' });
    expect(events.map(({ type }) => type)).toContain('model.requested');
    const again = await replayed('verify', String(made.document['session']));
    expect(again.document).toMatchObject({ identical: true, complete: true });
  });
});

describe('a fork that asks people', () => {
  type Asked = Readonly<{ session: string; approval: string }>;
  const askedBy = async (session: string): Promise<Asked | undefined> => {
    const { stdout } = await cli('approvals', 'list', '--json');
    const { approvals } = JSON.parse(stdout) as { approvals: readonly Asked[] };
    return approvals.find((one) => one.session === session);
  };
  const answer = async (session: string, text: string): Promise<void> => {
    const asked = async () => (await askedBy(session))?.approval ?? '';
    await expect.poll(asked, { timeout: 60_000, interval: 1_000 }).not.toBe('');
    const { code, stderr } = await cli('approvals', 'answer', await asked(), text);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  };

  it('is answered by itself, whatever the other session was told', async () => {
    const goal = await desk.submit({ plan: 'gate' });
    const session = sessionId('default', '', goal);
    await answer(session, 'not today');
    expect((await desk.result(goal)).status).toBe('completed');
    await logs.closed(session);
    const { document } = await replayed('show', session, '--kind', 'task.scheduled');
    const [begun] = document['events'] as unknown as { offset: number; index: number }[];
    const live = ['--tools', 'live', '--models', 'live'];
    const made = await replayed(
      'fork',
      session,
      '--at',
      `${begun?.offset}.${begun?.index}`,
      ...live,
    );
    const fork = String(made.document['session']);
    await answer(fork, 'go on');
    const { events } = await logs.closed(fork);
    const told = events.find(({ type }) => type === 'person.settled');
    expect(told?.data).toMatchObject({ outcome: 'answered', decision: 'answered' });
    expect(JSON.stringify(events.find(({ type }) => type === 'session.completed'))).toContain(
      'go on',
    );
    const again = await replayed('verify', fork);
    expect(again.document).toMatchObject({ identical: true, complete: true });
  });
});

describe('files', () => {
  it('hold sessions whole, and all of them are verified at once, on every core', async () => {
    const directory = mkdtempSync(join(place, 'exports-'));
    const sessions = [failed, cancelled, retried];
    await Promise.all(
      sessions.map((one) => replay('export', one, '--out', join(directory, `${one}.jsonl`))),
    );
    const anonymous = join(directory, 'anonymous.jsonl');
    const { code } = await replay('anonymise', failed, '--out', anonymous);
    expect(code).toBe(0);
    expect((await replay('import', join(directory, `${failed}.jsonl`))).code).toBe(0);
    const all = await replayed('verify', '--over', directory);
    expect(all.document).toMatchObject({ sessions: 4, identical: 4, unreadable: 0 });
    writeFileSync(join(place, 'policy.yaml'), 'deny: [files.read]\n');
    const policy = ['--policy', join(place, 'policy.yaml'), '--over', directory];
    const backtest = await replayed('backtest', ...policy);
    expect(backtest.code).toBe(0);
  });
});
