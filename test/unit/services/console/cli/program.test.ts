import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../../../../services/console/cli/program.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

const stateDir = join(mkdtempSync(join(tmpdir(), 'longrein-cli-')), 'state');

async function run(...argv: string[]) {
  const terminal = fakeTerminal();
  const environment = { LONGREIN_STATE_DIR: stateDir };
  const code = await runCli(argv, { environment, workingDir: stateDir, terminal });
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

async function runJson(...argv: string[]) {
  const { code, stdout, stderr } = await run(...argv, '--json');
  return { code, document: JSON.parse(stdout) as Record<string, unknown>, stderr };
}

describe('the command line', () => {
  it('prints help with an example and ends with 0', async () => {
    const { code, stdout } = await run('goal', 'submit', '--help');
    expect(code).toBe(0);
    expect(stdout).toContain('longrein goal submit --plan lockfile-audit');
  });

  it.each([
    ['up'],
    ['down'],
    ['status'],
    ['doctor'],
    ['start'],
    ['sql'],
    ['query'],
    ['cost'],
    ['migrate'],
    ['events', 'export'],
    ['events', 'import'],
    ['events', 'backfill'],
    ['events', 'retention'],
    ['sample-data'],
    ['demo'],
    ['goal', 'submit'],
    ['goal', 'follow'],
    ['goal', 'signal'],
    ['goal', 'cancel'],
    ['plan', 'check'],
    ['session', 'list'],
    ['session', 'show'],
    ['replay', 'verify'],
    ['replay', 'export'],
    ['replay', 'show'],
    ['replay', 'why'],
    ['replay', 'first-failure'],
    ['replay', 'context'],
    ['replay', 'diff'],
    ['replay', 'cost'],
    ['replay', 'receipts'],
    ['replay', 'gantt'],
    ['replay', 'dag'],
    ['replay', 'import'],
    ['replay', 'fork'],
    ['replay', 'retry'],
    ['replay', 'backtest'],
    ['replay', 'anonymise'],
    ['agents', 'list'],
    ['agents', 'show'],
    ['agents', 'check'],
  ])('has an example in the help of %s %s', async (...words) => {
    const { code, stdout } = await run(...words, '--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples?:\\n  longrein ${words.join(' ')}`));
  });

  it('names the nearest command for one that it does not know', async () => {
    const { code, stdout, stderr } = await run('upp');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("unknown command 'upp'");
    expect(stderr).toContain('Did you mean up?');
  });

  it('names the nearest option, as one JSON document', async () => {
    const { code, document, stderr } = await runJson('goal', 'submit', '--folow');
    expect(code).toBe(2);
    expect(document).toEqual({
      error: { code: 'USAGE', message: "unknown option '--folow'", fix: 'Did you mean --follow?' },
    });
    expect(stderr).toBe('');
  });

  it('names the commands of a group that is called without one', async () => {
    const { code, stderr } = await run('session');
    expect(code).toBe(2);
    expect(stderr).toContain('One of: list, show.');
  });

  it('refuses a value that is none of the choices', async () => {
    const { code, stderr } = await run('goal', 'submit', '--plan', 'a', '--priority', 'urgent');
    expect(code).toBe(2);
    expect(stderr).toContain('high, normal, bulk');
  });

  it('refuses a service that does not exist and names the nearest', async () => {
    const { code, stderr } = await run('start', 'supervizor');
    expect(code).toBe(2);
    expect(stderr).toContain('Did you mean supervisor?');
  });

  it('says what to do where no broker is known', async () => {
    const { code, document } = await runJson('goal', 'submit', '--plan', 'a');
    expect(code).toBe(1);
    expect(document).toMatchObject({
      error: { code: 'CONFIG_MISSING', fix: expect.stringContaining('longrein up') },
    });
  });

  it('ends status with 1 where nothing runs', async () => {
    const { code, document } = await runJson('status');
    expect(code).toBe(1);
    expect(document).toMatchObject({ well: false, up: false, processes: [] });
  });

  it('says where no ClickHouse is known', async () => {
    const { code, document } = await runJson('sql', 'SELECT 1');
    expect(code).toBe(1);
    expect(document).toMatchObject({ error: { code: 'CLICKHOUSE_UNKNOWN' } });
  });

  it('refuses a goal file that is not a goal, with its field', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'longrein-goal-')), 'goal.json');
    writeFileSync(file, '{"goal": "audit", "colour": "red"}');
    const { code, stderr } = await run('goal', 'submit', '--file', file);
    expect(code).toBe(2);
    expect(stderr).toContain('colour is not a member of a goal');
  });

  it('refuses a demo of a file that is not there, before anything starts', async () => {
    const { code, document, stderr } = await runJson('demo', '--path', '/nowhere/lock.json');
    expect(code).toBe(1);
    expect(document).toMatchObject({ error: { code: 'LOCK_FILE' } });
    expect(stderr).toBe('');
  });
});
