import { expect, test } from 'vitest';
import { runCli } from '../../../../../services/console/cli/program.ts';
import { catalogDirectory, soundFiles } from '../../../../support/catalog-directory.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

async function check(...argv: string[]) {
  const directory = catalogDirectory({ ...soundFiles, 'ring.yaml': circle });
  const terminal = fakeTerminal();
  const environment = { LONGREIN_CATALOG: directory };
  const argument = ['plan', 'check', ...argv];
  const code = await runCli(argument, { environment, workingDir: directory, terminal });
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

const circle = `name: ring
version: 1.0.0
description: Two tasks that wait for one another.
tasks:
  - { id: first, pool: work, agent: wrtier, needs: [second] }
  - { id: second, pool: work, agent: writer, needs: [first] }
output: { kind: collect, shape: =tasks.second }
`;
const [sound = ''] = Object.keys(soundFiles).filter((name) => name.startsWith('plans/'));

test('checks as many files as are named, and fails if one of them is wrong', async () => {
  const { code, stdout } = await check(sound, 'ring.yaml');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ok {2}/);
  expect(stdout).toContain('ring.yaml:5:');
  expect(stdout).toContain('There is no agent "wrtier".');
  expect(stdout).toContain('Did you mean "writer"?');
  expect(await check(sound)).toMatchObject({ code: 0 });
});

test('writes one document a file with --json', async () => {
  const { code, stdout } = await check(sound, 'ring.yaml', 'none.yaml', '--json');
  expect(code).toBe(1);
  const documents = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { file: string; problems: unknown[] });
  expect(documents.map(({ file }) => file)).toEqual([sound, 'ring.yaml', 'none.yaml']);
  expect(documents[0]?.problems).toEqual([]);
  expect(documents[1]?.problems.length).toBeGreaterThan(0);
  expect(documents[2]?.problems).toHaveLength(1);
});

test('without a file says what is missing', async () => {
  const { code, stderr } = await check();
  expect(code).toBe(2);
  expect(stderr).toContain("missing required argument 'file'");
});
