import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../../../../services/chassis/config/package-root.ts';
import { runCli } from '../../../../../services/console/cli/program.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

/** A backtest that is stopped and run again with its state. */

const directory = mkdtempSync(join(tmpdir(), 'longrein-backtest-'));
const inPlace = (name: string): string => join(directory, name);

type Told = Readonly<{
  sessions: number;
  flipped: number;
  verdicts: readonly Readonly<{ session: string; verdict: string }>[];
  error: Readonly<{ code: string; message: string; fix: string }>;
}>;

async function run(...words: readonly string[]): Promise<Readonly<{ code: number; told: Told }>> {
  const terminal = fakeTerminal();
  const environment = { LONGREIN_STATE_DIR: inPlace('.longrein') };
  const all = ['replay', 'backtest', ...words, '--over', '.', '--state', 'state.jsonl', '--json'];
  const code = await runCli(all, { environment, workingDir: directory, terminal });
  return { code, told: JSON.parse(terminal.stdout) as Told };
}

const lines = (): readonly string[] => readFileSync(inPlace('state.jsonl'), 'utf8').split('\n');

beforeEach(() => {
  rmSync(inPlace('state.jsonl'), { force: true });
  for (const name of ['model-loop', 'restarts', 'cancelled'])
    writeFileSync(
      inPlace(`${name}.jsonl`),
      readFileSync(join(packageRoot, `test/replay/${name}.jsonl`)),
    );
  writeFileSync(inPlace('policy.yaml'), 'deny: [test.echo]\n');
});

afterAll(() => rmSync(directory, { recursive: true }));

test('what was found is not run again, a line that a kill cut off is', async () => {
  const first = await run('--policy', 'policy.yaml');
  expect(first.told).toMatchObject({ sessions: 3, flipped: 1 });
  const whole = lines();
  expect(whole.length).toBe(5);
  // The session is nowhere any more: only the state knows of it.
  writeFileSync(inPlace('cancelled.jsonl'), 'broken');
  const cut = `${whole.slice(0, 3).join('\n')}\n${whole[3]?.slice(0, 30)}`;
  writeFileSync(inPlace('state.jsonl'), cut);
  const second = await run('--policy', 'policy.yaml');
  expect(second.told.verdicts).toEqual(first.told.verdicts);
  // The state lies among the exports, and is no session.
  expect(second.told.sessions).toBe(3);
  expect(lines()).toEqual(whole);
});

test('a file that says something else now is another candidate, under the same name', async () => {
  expect((await run('--policy', 'policy.yaml')).told.flipped).toBe(1);
  writeFileSync(inPlace('policy.yaml'), 'deny: [test.none]\n');
  const { code, told } = await run('--policy', 'policy.yaml');
  expect([code, told.error.code]).toEqual([1, 'STATE_OTHER']);
  expect(told.error.fix).toContain('begin again');
  rmSync(inPlace('state.jsonl'));
  expect((await run('--policy', 'policy.yaml')).told.flipped).toBe(0);
});

test('a file of something else is no state, and is left as it is', async () => {
  for (const [text, line] of [
    ['not JSON\n', 1],
    [undefined, 2],
  ] as const) {
    if (text === undefined) await run('--policy', 'policy.yaml');
    const before = text ?? `${lines()[0]}\n{"a":1}\n`;
    writeFileSync(inPlace('state.jsonl'), before);
    const { code, told } = await run('--policy', 'policy.yaml');
    expect([code, told.error.code]).toEqual([1, 'STATE_UNREADABLE']);
    expect(told.error.message).toContain(`line ${line} of`);
    expect(readFileSync(inPlace('state.jsonl'), 'utf8')).toBe(before);
    rmSync(inPlace('state.jsonl'));
  }
});
