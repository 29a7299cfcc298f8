import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../../../../../services/console/cli/program.ts';
import { catalogDirectory, soundFiles } from '../../../../support/catalog-directory.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

async function run(directory: string, ...argv: string[]) {
  const terminal = fakeTerminal();
  const environment = { LONGREIN_CATALOG: directory };
  const code = await runCli(['agents', ...argv], { environment, workingDir: directory, terminal });
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

const writer = soundFiles['agents/writer.yaml'] ?? '';

test('lists agents with the hash that sessions name them by, and shows one with its defaults', async () => {
  const directory = catalogDirectory(soundFiles);
  const { stdout } = await run(directory, 'list');
  expect(stdout).toMatch(/NAME +VERSION +KIND/);
  expect(stdout).toMatch(/writer +1\.0\.0 +model +writer +tester +none +8 steps/);
  const shown = await run(directory, 'show', 'writer');
  expect(shown.stdout).toContain('stepsMax: 8');
  expect(shown.stdout).toContain('attempts: resume');
  const { digest } = JSON.parse((await run(directory, 'show', 'writer', '--json')).stdout);
  expect(stdout).toContain(String(digest).slice(0, 12));
});

test('names the nearest agent for one that is not there', async () => {
  const { code, stderr } = await run(catalogDirectory(soundFiles), 'show', 'wrtier');
  expect(code).toBe(2);
  expect(stderr).toContain('Did you mean writer? Known: worker, writer.');
});

test('checks the whole catalog, or one file that is not in it yet', async () => {
  const directory = catalogDirectory(soundFiles);
  expect(await run(directory, 'check')).toMatchObject({
    ...{ code: 0, stdout: '2 agents checked: no problems.\n' },
  });
  const draft = join(directory, 'draft.yaml');
  writeFileSync(draft, writer.replace('model: writer', 'model: writer\nstepMax: 3'));
  const { code, stdout } = await run(directory, 'check', 'draft.yaml');
  expect(code).toBe(1);
  expect(stdout).toContain(`${draft}:7:1 "stepMax" is unknown.\n    Did you mean "stepsMax"?`);
  expect(stdout).toContain('1 problem.');
  const { problems } = JSON.parse((await run(directory, 'check', 'draft.yaml', '--json')).stdout);
  expect(problems).toHaveLength(1);
});

test('a file that is not there is a problem', async () => {
  const { code, stdout } = await run(catalogDirectory(soundFiles), 'check', 'none.yaml');
  expect(code).toBe(1);
  expect(stdout).toContain('The file cannot be read');
});
