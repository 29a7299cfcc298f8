import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { healthNotePath } from '../../services/chassis/telemetry/health-server.ts';
import { cliIn } from '../support/cli-process.ts';

/** The whole life of a local stack through the command, each call a process of its own. */

const parent = mkdtempSync(join(tmpdir(), 'longrein-cli-'));
const stateDir = join(parent, 'state');
const exported = join(parent, 'session.jsonl');
const cli = cliIn(stateDir);

type Json = Record<string, unknown>;
type Host = { name: string; pid: number; state: string };

async function json(...argv: string[]): Promise<{ code: number | null; document: Json }> {
  const { code, stdout, stderr } = await cli(...argv, '--json');
  try {
    return { code, document: JSON.parse(stdout) as Json };
  } catch {
    throw new Error(`not one JSON document: ${stdout}\n${stderr}`);
  }
}

let first: Json;
let session = '';

beforeAll(async () => {
  const { code, document } = await json('up');
  expect(document).not.toHaveProperty('error');
  expect(code).toBe(0);
  first = document;
});

afterAll(async () => {
  await cli('down', '--wipe');
  rmSync(parent, { recursive: true, force: true });
});

describe('longrein on a stack of its own', () => {
  it('is up: every address is in stack.json and answers', async () => {
    const stack = JSON.parse(readFileSync(join(stateDir, 'stack.json'), 'utf8')) as Json;
    for (const name of ['brokers', 'registryUrl']) expect(stack[name]).toEqual(first[name]);
    // The file has the password, what is printed has not.
    const known = new URL(String(stack['clickhouseUrl']));
    expect(known.origin).toBe(first['clickhouseUrl']);
    expect(known.password).not.toBe('');
    const stranger = await fetch(`${known.origin}/?query=SELECT%201`);
    expect([stranger.status, await stranger.text()]).toEqual([403, expect.stringContaining('516')]);
    const { code, stdout } = await cli('status');
    expect(stdout).toMatch(/^host +ok/m);
    expect(code).toBe(0);
    const seen = (await json('status')).document as { processes: Json[] };
    const host = seen.processes.find(({ name }) => name === 'host');
    expect(host?.['health']).toMatchObject({ ready: true, reasons: [] });
  });

  it('says its figures to Prometheus', async () => {
    const [host] = first['hosts'] as Host[];
    const note = readFileSync(healthNotePath(stateDir, host?.pid ?? 0), 'utf8');
    const { url } = JSON.parse(note) as { url: string };
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/^longrein_ready 1$/m);
    expect(text).toMatch(/^longrein_service_ready\{longrein_service="event-store"\} 1$/m);
    expect(text).toMatch(/^longrein_partitions_owned\{longrein_service="supervisor"\} [1-9]/m);
    expect(text).toMatch(/^longrein_log_lag\{longrein_topic="longrein\.sessions\.normal"\} \d+$/m);
    expect(text).toMatch(/^longrein_store_lag\{longrein_topic="longrein\.goals"\} \d+$/m);
    expect(text).toMatch(/^longrein_partition_rehydration_seconds_count [1-9]/m);
  });

  it('changes nothing when it is brought up again', async () => {
    const { code, document } = await json('up');
    expect(code).toBe(0);
    const pids = (stack: Json): number[] => (stack['hosts'] as Host[]).map((host) => host.pid);
    expect(pids(document)).toEqual(pids(first));
    expect((document['hosts'] as Host[]).map((host) => host.state)).toEqual(['kept']);
  });

  it('follows a goal to its result and shows what happens meanwhile', async () => {
    const goal = ['goal', 'submit', '--plan', 'lockfile-audit', '--id', 'cli-1'];
    const { code, stdout, stderr } = await cli(...goal, '--follow', '--json');
    const document = JSON.parse(stdout) as Json & { result: Json; session: string };
    expect(document.result).toMatchObject({ goalId: 'cli-1', status: 'completed' });
    expect(document['repeated']).toBe(false);
    expect(code).toBe(0);
    session = document.session;
    expect(stderr).toMatch(/task +licences +done in/);
    expect(stderr).toMatch(/tool +files\.read +for lock-reader, path=package-lock\.json/);
    expect(stderr).toMatch(/agent +report-writer +started/);
  });

  it('gives the first result to who asks again under the same id', async () => {
    const goal = ['goal', 'submit', '--plan', 'lockfile-audit', '--id', 'cli-1', '--follow'];
    const { code, document } = await json(...goal);
    expect(document).toMatchObject({ session, repeated: true, result: { status: 'completed' } });
    expect(code).toBe(0);
  });

  it('ends with 1 and the reason when a goal is rejected', async () => {
    const { code, document } = await json('goal', 'submit', '--plan', 'nope', '--follow');
    expect(document).toMatchObject({
      result: { status: 'rejected', error: { code: 'PLAN_UNKNOWN', field: 'plan' } },
    });
    expect(code).toBe(1);
  });

  it('keeps a cancel that comes before its goal', async () => {
    const cancel = await json('goal', 'cancel', 'cli-2', '--reason', 'not needed');
    expect(cancel.code).toBe(0);
    const goal = ['goal', 'submit', '--plan', 'lockfile-audit', '--id', 'cli-2', '--follow'];
    const { code, document } = await json(...goal);
    expect(document['result']).toMatchObject({ goalId: 'cli-2', status: 'cancelled' });
    expect(document['session']).toBe(cancel.document['session']);
    expect(code).toBe(1);
  });

  it('shows the session, by its goal id and by its session id', async () => {
    const { code, stdout } = await cli('session', 'show', 'cli-1');
    expect(code).toBe(0);
    expect(stdout).toContain(`${session}, completed`);
    expect(stdout).toMatch(/task\.completed/);
    const { document } = await json('session', 'show', session);
    const types = (document['events'] as { type: string }[]).map((event) => event.type);
    expect(types[0]).toBe('session.opened');
    expect(types).toContain('result.published');
  });

  it('answers SQL once the events are stored, and only reads', async () => {
    const statement = `SELECT count() AS n FROM events WHERE type = 'result.published'`;
    let stored = '';
    for (let tries = 0; tries < 100 && !stored.startsWith('n\n1'); tries += 1) {
      stored = (await cli('sql', statement)).stdout;
      await sleep(100);
    }
    expect(stored).toBe('n\n1\n');
    const list = await json('session', 'list', '--status', 'completed');
    expect(list.document['sessions']).toMatchObject([{ session_id: session, goal_id: 'cli-1' }]);
    const change = await json('sql', 'CREATE TABLE t (a Int8) ENGINE = Memory');
    expect(change.document).toMatchObject({ error: { code: 'SQL_FAILED' } });
    expect(change.code).toBe(1);
  });

  it('verifies the session from the log, from ClickHouse and from an export', async () => {
    const { code, document } = await json('replay', 'verify', session);
    expect(document).toMatchObject({ session, identical: true, complete: true });
    expect(code).toBe(0);
    expect((await cli('replay', 'verify', session, '--source', 'clickhouse')).code).toBe(0);
    const report = await json('replay', 'export', session.slice(0, 12), '--out', exported);
    expect(report.document).toMatchObject({ session, path: exported });
    expect((await cli('replay', 'verify', session, '--file', exported)).code).toBe(0);
  });

  it('ends with 3 for an export in which one byte was changed', async () => {
    const text = readFileSync(exported, 'utf8');
    writeFileSync(exported, text.replace('"attempt":1', '"attempt":2'));
    const { code, document } = await json('replay', 'verify', session, '--file', exported);
    expect(document).toMatchObject({ error: { code: 'EXPORT_CORRUPT' } });
    expect(code).toBe(3);
  });

  it('starts a host again that was killed, and says so', async () => {
    const [host] = first['hosts'] as Host[];
    process.kill(host?.pid ?? 0, 'SIGKILL');
    expect((await cli('status')).code).toBe(1);
    const { code, document } = await json('up');
    expect(code).toBe(0);
    expect(document['hosts']).toMatchObject([{ name: 'host', state: 'restarted' }]);
  });

  it('gives new sessions other topics while the stack runs, and lets the old ones go', async () => {
    const goal = ['goal', 'submit', '--plan', 'lockfile-audit', '--follow'];
    const running = json(...goal, '--id', 'before-rescale');
    const reason = ['--reason', 'a test of it', '--as', 'ann'];
    const rescaled = await json('topics', 'rescale', '--partitions', '3', ...reason);
    expect(rescaled).toMatchObject({ code: 0, document: { generation: 2, partitions: 3 } });
    expect((await running).document['result']).toMatchObject({ status: 'completed' });
    const after = await json(...goal, '--id', 'after-rescale');
    expect(after.document['result']).toMatchObject({ status: 'completed' });
    const verified = await json('replay', 'verify', String(after.document['session']));
    expect(verified.document).toMatchObject({
      identical: true,
      origin: expect.stringMatching(/longrein\.sessions\.normal\.g2\/[012]/) as string,
    });
    const repeated = await json(...goal, '--id', 'cli-1');
    expect(repeated.document).toMatchObject({ session, repeated: true });
    const { document } = await json('topics', 'list');
    expect(document['topics']).toMatchObject(
      Array.from({ length: 6 }, (_, index) => ({ generation: index < 3 ? 1 : 2, open: 0 })),
    );
    const own = `session_id = '${String(after.document['session'])}' AND k_topic LIKE '%.g2'`;
    const stored = `SELECT count() AS n FROM events WHERE type = 'session.closed' AND ${own}`;
    let rows = '';
    for (let tries = 0; tries < 100 && !rows.startsWith('n\n1'); tries += 1) {
      rows = (await cli('sql', stored)).stdout;
      await sleep(100);
    }
    expect(rows).toBe('n\n1\n');
  });

  it('retires a generation that is drained, and refuses what makes no sense', async () => {
    const reason = ['--reason', 'drained', '--as', 'ann'];
    const same = await json('topics', 'rescale', '--partitions', '3', ...reason);
    expect(same).toMatchObject({ code: 1, document: { error: { code: 'LANES_UNCHANGED' } } });
    const newest = await json('topics', 'retire', '2', ...reason);
    expect(newest).toMatchObject({ code: 1, document: { error: { code: 'GENERATION_IN_USE' } } });
    expect((await json('topics', 'retire', '1')).code).toBe(2);
    const retired = await json('topics', 'retire', '1', ...reason);
    expect(retired).toMatchObject({ code: 0, document: { generation: 1 } });
    const goal = ['goal', 'submit', '--plan', 'lockfile-audit', '--follow', '--id', 'after-retire'];
    expect((await json(...goal)).document['result']).toMatchObject({ status: 'completed' });
    // What happened in the old topics can still be proved.
    expect((await json('replay', 'verify', session)).code).toBe(0);
  });

  it('stops all that it started, keeps the data, and removes it when asked', async () => {
    const { code, document } = await json('down');
    expect(code).toBe(0);
    const stopped = [...(document['stopped'] as string[])].sort();
    expect(stopped).toEqual(['broker', 'clickhouse', 'host', 'registry']);
    expect((await cli('status')).code).toBe(1);
    expect(existsSync(join(stateDir, 'kafka'))).toBe(true);
    expect((await json('down', '--wipe')).document).toMatchObject({ stopped: [], wiped: true });
    expect(existsSync(stateDir)).toBe(false);
  });
});
