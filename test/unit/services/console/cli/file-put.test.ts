import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createDirectoryBlobs } from '../../../../../services/chassis/content/blobs.ts';
import { runCli } from '../../../../../services/console/cli/program.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

const workingDir = mkdtempSync(join(tmpdir(), 'longrein-file-put-'));
const blobDir = join(workingDir, 'blobs');
afterAll(() => rmSync(workingDir, { recursive: true }));

async function put(...argv: string[]) {
  const terminal = fakeTerminal();
  const environment = { LONGREIN_BLOB_DIR: blobDir };
  const code = await runCli(['file', 'put', ...argv], { environment, workingDir, terminal });
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test('keeps the bytes where hosts find them, and prints what names them', async () => {
  writeFileSync(join(workingDir, 'Chart.PNG'), 'hello');
  const { code, stdout } = await put('Chart.PNG');
  expect(code).toBe(0);
  const { mediaType, blob } = JSON.parse(stdout);
  expect(mediaType).toBe('image/png');
  expect(await createDirectoryBlobs(blobDir).get(blob)).toBe('"aGVsbG8="');
  expect(JSON.parse((await put('Chart.PNG', '--type', 'image/webp')).stdout)).toEqual({
    ...{ mediaType: 'image/webp', blob },
  });
});

test.each([
  [['data.bin'], 'what "data.bin" is does not follow from its name'],
  [['data.bin', '--type', 'picture'], '"picture" is no media type'],
  [['none.png'], '"none.png" was not read: ENOENT'],
])('%j is refused with what to do', async (argv, problem) => {
  const { code, stderr } = await put(...argv);
  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});

test('an empty file is refused', async () => {
  writeFileSync(join(workingDir, 'empty.png'), '');
  const { code, stderr } = await put('empty.png');
  expect(code).toBe(1);
  expect(stderr).toContain('a file for a model has 1 to');
});
