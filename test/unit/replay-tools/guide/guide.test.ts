import childProcess from 'node:child_process';
import dns from 'node:dns';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { exportLines } from '../../../../replay-tools/export/export.ts';
import { parseExport } from '../../../../replay-tools/read/file.ts';
import type { SessionSource, SourceRecord } from '../../../../replay-tools/read/source.ts';
import { packageRoot } from '../../../../services/chassis/config/package-root.ts';
import type { EventRecord } from '../../../../services/chassis/protocol/event-record.ts';
import { recordHash } from '../../../../services/chassis/protocol/seal.ts';
import { runCli } from '../../../../services/console/cli/program.ts';
import { fakeTerminal } from '../../../support/fake-terminal.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { recordWorld } from '../../../support/recorded-world.ts';
import { exportFromWorld } from '../../../support/world-session.ts';

/**
 * The guide, line by line, on a session that really failed; and every verb, with the network and other processes
 * forbidden. What a verb tries is counted.
 */

const directory = mkdtempSync(join(tmpdir(), 'longrein-guide-'));
const attempts: string[] = [];

/** The ways out of this process. Each is counted and refused. */
function forbid(): () => void {
  const doors: readonly (readonly [object, readonly string[]])[] = [
    [net.Socket.prototype, ['connect']],
    [net, ['connect', 'createConnection']],
    [http, ['request', 'get']],
    [dns, ['lookup', 'resolve']],
    [childProcess, ['spawn', 'spawnSync', 'exec', 'execFile', 'execFileSync', 'fork']],
    [globalThis, ['fetch']],
  ];
  const undo = doors.flatMap(([owner, names]) =>
    names.map((name) => {
      const real: unknown = Reflect.get(owner, name);
      Reflect.set(owner, name, () => {
        attempts.push(name);
        throw new Error(`${name} is forbidden here`);
      });
      return () => void Reflect.set(owner, name, real);
    }),
  );
  syncBuiltinESMExports();
  return () => {
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}

/** A session whose tools are at work. */
async function unfinished(): Promise<string> {
  const world = await MemoryWorld.start({ seed: 46 });
  const inputs = { counter: 'c', waitMs: 9_000 };
  const { session } = world.publishGoal({ goal: 'Count.', plan: 'count', inputs });
  await world.clock.run(300);
  return exportFromWorld(world, session);
}

let allow: () => void = () => undefined;

beforeAll(async () => {
  const { world, goals } = await recordWorld();
  const write = async (name: string, session: string): Promise<void> =>
    writeFileSync(join(directory, name), await exportFromWorld(world, session));
  await write('failed.jsonl', goals.failing.session);
  await write('asked.jsonl', goals.asked.session);
  writeFileSync(join(directory, 'running.jsonl'), await unfinished());
  allow = forbid();
});

afterAll(() => {
  allow();
  rmSync(directory, { recursive: true });
});

async function run(words: readonly string[]) {
  const terminal = fakeTerminal();
  const environment = { LONGREIN_STATE_DIR: join(directory, 'state') };
  const code = await runCli(words, { environment, workingDir: directory, terminal });
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

const guide = readFileSync(join(packageRoot, 'docs/replay.md'), 'utf8');

/** Files that the guide shows, and its commands, in order. */
const steps = [...guide.matchAll(/^```(sh|yaml)(?: (\S+))?\n([\s\S]*?)^```$/gm)].flatMap(
  ([, kind, file, text = '']) =>
    kind === 'yaml'
      ? [{ file, text }]
      : text
          .trim()
          .split('\n')
          .map((command) => ({ file: undefined, text: command })),
);

describe('the guide', () => {
  test('every command in it does what it says, on a session that failed', async () => {
    const said = new Map<string, string>();
    for (const { file, text } of steps) {
      if (file !== undefined) {
        writeFileSync(join(directory, file), text);
        continue;
      }
      const { code, stdout, stderr } = await run(text.split(' ').slice(1));
      expect({ text, code, stderr }).toEqual({ text, code: 0, stderr: '' });
      expect(stdout).not.toBe('');
      said.set(text, stdout);
    }
    expect(said.size).toBeGreaterThan(18);
    const of = (start: string): string =>
      [...said].find(([command]) => command.startsWith(`longrein replay ${start}`))?.[1] ?? '';
    expect(of('show failed.jsonl')).toMatch(/^Session {2}ses_[0-9a-f]{32}, failed\n/);
    expect(of('first-failure')).toMatch(/^\d+\.0 tool\.failed made it inevitable: /);
    expect(of('verify failed.jsonl')).toContain('IDENTICAL\n');
    expect(of('show fixed.jsonl')).toMatch(
      /^Session {2}ses_[0-9a-f]{32}, completed\nFork {5}of ses_/,
    );
    expect(of('diff')).toMatch(/status +failed, TOOL_BROKE +completed/);
    expect(of('verify for-others.jsonl')).toContain('some of it by hash only');
  });
});

const calls: Readonly<Record<string, readonly string[]>> = {
  show: ['failed.jsonl'],
  why: ['failed.jsonl', 'last'],
  'first-failure': ['failed.jsonl'],
  context: ['asked.jsonl'],
  diff: ['failed.jsonl', 'asked.jsonl'],
  cost: ['asked.jsonl'],
  receipts: ['asked.jsonl'],
  gantt: ['failed.jsonl', '--svg', 'time.svg'],
  dag: ['failed.jsonl', '--svg', 'plan.svg'],
  verify: ['asked.jsonl'],
  fork: ['asked.jsonl', '--at', 'first', '--set', 'model=scripted/other'],
  retry: ['failed.jsonl'],
  backtest: ['--model', 'scripted/other', '--over', '.'],
  export: ['asked.jsonl', '--out', 'again.jsonl'],
  import: ['asked.jsonl'],
  anonymise: ['asked.jsonl', '--out', 'other.jsonl'],
};

describe('nothing is touched', () => {
  test('every verb is tried', async () => {
    const { stdout } = await run(['replay', '--help']);
    const verbs = [...stdout.matchAll(/^ {2}([a-z-]+) (?:.*)? {2,}\S/gm)].map((found) => found[1]);
    expect(verbs.filter((verb) => verb !== 'help').toSorted()).toEqual(
      Object.keys(calls).toSorted(),
    );
  });

  test.each(Object.entries(calls))(
    '%s makes no attempt, and has a document',
    async (verb, words) => {
      expect((await run(['replay', verb, ...words])).code).toBe(0);
      const { code, stdout, stderr } = await run(['replay', verb, ...words, '--json']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(() => JSON.parse(stdout)).not.toThrow();
      expect(attempts).toEqual([]);
    },
  );

  test('what would touch the world is refused', async () => {
    const retry = ['replay', 'retry', 'failed.jsonl', '--json'];
    for (const words of [
      ['--tools', 'live'],
      ['--models', 'live'],
    ])
      expect((await run([...retry, ...words])).code).toBe(2);
    // Only what stands in the log can go on live: this one was read from a file.
    for (const who of ['live', 'record']) {
      const { code, stdout } = await run([...retry, '--tools', who, '--models', 'live']);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'FORK_NOT_LIVE' } });
    }
    expect(attempts).toEqual([]);
  });

  test('the count counts: a verb that reads the log tries to', async () => {
    const terminal = fakeTerminal();
    const environment = {
      LONGREIN_BROKERS: '127.0.0.1:1',
      LONGREIN_STATE_DIR: join(directory, 'state'),
    };
    const words = ['replay', 'show', `ses_${'0'.repeat(32)}`];
    const tried = runCli(words, { environment, workingDir: directory, terminal });
    await Promise.race([tried, new Promise((resolve) => setTimeout(resolve, 2_000).unref())]);
    expect(attempts.length).toBeGreaterThan(0);
    attempts.length = 0;
  });
});

/** An export in which a decision was changed by somebody who knows the rules: its id and the file's hashes are right. */
async function tampered(name: string): Promise<{ text: string; session: string; offset: number }> {
  const source = await parseExport([readFileSync(join(directory, name), 'utf8')], name);
  let offset = -1;
  const changed: SessionSource = {
    ...source,
    async *records() {
      for await (const record of source.records()) {
        const isMeant = offset < 0 && record.header.types[0] === 'task.scheduled';
        if (isMeant) offset = record.offset;
        yield isMeant ? withPriority(record) : record;
      }
    },
  };
  let text = '';
  for await (const line of exportLines(changed, { release: '0.0.0-world' })) text += line;
  return { text, session: source.session, offset };
}

function withPriority(record: SourceRecord): SourceRecord {
  const { body, header } = record;
  if (body?.kind !== 'turn') throw new Error('no turn');
  const [first, ...rest] = body.events;
  const events = [{ ...first, data: { ...first?.data, priority: 9 } } as EventRecord, ...rest];
  const made = { ...body, events };
  return {
    ...record,
    body: made,
    header: { ...header, id: `trn_${recordHash(made).slice(0, 32)}` },
  };
}

describe('a gate over many sessions', () => {
  test('passes where all are identical, and does not where one differs or cannot be read', async () => {
    const gate = async () => {
      const { code, stdout } = await run(['replay', 'verify', '--over', 'gate', '--json']);
      return { code, document: JSON.parse(stdout) as Record<string, unknown> };
    };
    const directoryOf = (name: string): string => join(directory, 'gate', name);
    mkdirSync(join(directory, 'gate'));
    expect((await gate()).code).toBe(1);
    copyFileSync(join(directory, 'failed.jsonl'), directoryOf('a.jsonl'));
    copyFileSync(join(directory, 'asked.jsonl'), directoryOf('b.jsonl'));
    const passed = await gate();
    expect(passed).toMatchObject({ code: 0, document: { sessions: 2, identical: 2, byHash: 0 } });
    writeFileSync(directoryOf('c.jsonl'), 'no export\n');
    expect(await gate()).toMatchObject({ code: 1, document: { identical: 2, unreadable: 1 } });
    rmSync(directoryOf('c.jsonl'));
    const { text, session, offset } = await tampered('asked.jsonl');
    writeFileSync(directoryOf('d.jsonl'), text);
    const { code, document } = await gate();
    const counts = { sessions: 3, identical: 2, differing: 1, unreadable: 0 };
    expect({ code, document }).toMatchObject({ code: 3, document: counts });
    const change = { pointer: '/events/0/data/priority', expected: '9', actual: '0' };
    const first = { kind: 'decision', service: 'supervisor', offset, changes: [change] };
    expect(document['differences']).toMatchObject([{ session, first }]);
    const told = (await run(['replay', 'verify', '--over', 'gate'])).stdout;
    expect(told).toContain('d.jsonl');
    expect(told).toContain('/events/0/data/priority');
  });

  test('the job of CI in the guide lets a release pass, and stops one that decides otherwise', async () => {
    const job = steps.find(({ file }) => file === 'release-gate.yaml')?.text ?? '';
    type Job = { env: Record<string, string>; steps: readonly { run?: string }[] };
    const { replay } = (parse(job) as { jobs: { replay: Job } }).jobs;
    expect(replay.env['SESSIONS']).toMatch(/^SELECT session_id FROM sessions /);
    const command = replay.steps.at(-1)?.run ?? '';
    const gate = async (sessions: string) => {
      const words = command.replace('"$SESSIONS"', sessions).split(' ').slice(2);
      return (await run(words)).code;
    };
    mkdirSync(join(directory, 'yesterday'));
    copyFileSync(join(directory, 'asked.jsonl'), join(directory, 'yesterday', 'a.jsonl'));
    expect(await gate('yesterday')).toBe(0);
    const { text } = await tampered('failed.jsonl');
    writeFileSync(join(directory, 'yesterday', 'b.jsonl'), text);
    expect(await gate('yesterday')).toBe(3);
  });
});

describe('bad input', () => {
  test.each([
    ['a damaged file', ['import', 'damaged.jsonl'], 1, 'EXPORT_CORRUPT'],
    ['a damaged file that is verified', ['verify', 'damaged.jsonl'], 3, 'EXPORT_CORRUPT'],
    ['a file that is not there', ['show', 'absent.jsonl'], 1, 'EXPORT_MISSING'],
    ['an unknown session', ['show', 'ses_00', '--source', 'file'], 1, 'SESSION_UNKNOWN'],
    ['an unknown event', ['why', 'failed.jsonl', '9999.0'], 1, 'EVENT_UNKNOWN'],
    ['an unknown task', ['retry', 'failed.jsonl', '--from', 'tri'], 1, 'TASK_UNKNOWN'],
    ['a fork that is no decision', ['fork', 'failed.jsonl', '--at', 'last'], 1, 'FORK_NO_DECISION'],
    [
      'a change without a form',
      ['fork', 'failed.jsonl', '--at', 'first', '--set', 'x'],
      2,
      'USAGE',
    ],
    ['a session that still runs', ['first-failure', 'running.jsonl'], 1, 'SESSION_RUNNING'],
    ['a retry of what still runs', ['retry', 'running.jsonl'], 1, 'SESSION_RUNNING'],
    ['a file of a newer release', ['verify', 'newer.jsonl'], 1, 'EXPORT_NEWER'],
    ['an agent that is not there', ['context', 'asked.jsonl', 'nobody'], 1, 'AGENT_UNKNOWN'],
    ['no failure', ['first-failure', 'asked.jsonl'], 1, 'SESSION_NOT_FAILED'],
  ] as const)('%s is a clear error', async (_name, words, expected, error) => {
    const text = readFileSync(join(directory, 'failed.jsonl'), 'utf8');
    writeFileSync(join(directory, 'damaged.jsonl'), text.replace('"attempt":2', '"attempt":3'));
    writeFileSync(join(directory, 'newer.jsonl'), text.replace(/"export":\d+/, '"export":99'));
    const { code, stdout } = await run(['replay', ...words, '--json']);
    const told = JSON.parse(stdout) as { error: { code: string; fix: string; message: string } };
    expect({ code, error: told.error.code }).toEqual({ code: expected, error });
    expect(told.error.fix).not.toBe('');
    rmSync(join(directory, 'damaged.jsonl'));
    rmSync(join(directory, 'newer.jsonl'));
  });

  test('what still runs is verified so far, and told so', async () => {
    const { code, stdout } = await run(['replay', 'verify', 'running.jsonl']);
    expect(code).toBe(0);
    expect(stdout).toContain('IDENTICAL so far: the session still runs\n');
  });
});
