import { beforeEach, expect, test } from 'vitest';
import type { ModelAgent } from '../../../../schemas/definitions/agent.ts';
import { bodyOf, textOf } from '../../../../schemas/event.ts';
import { createWorkerPoolLogic } from '../../../../services/worker-pool/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { modelAgent, newest, openWork, schedule } from '../../../support/work-fixtures.ts';

/** Images and files that go with what an agent says first. The input of the agent is {path: a.txt}. */

let bench: BenchSession;
beforeEach(() => {
  bench = new BenchSession([{ logic: createWorkerPoolLogic('general') }]);
});

function begin(files: ModelAgent['files']): void {
  openWork(bench, { agents: [modelAgent({ files: files ?? null })] });
  schedule(bench, 'writer');
  bench.settle();
}

const said = () => bodyOf(newest(bench.events, 'model.requested').content.messages);
const blob = 'a'.repeat(64);
const file = { mediaType: 'image/png', blob };

test('are named by their blobs, in the order of the template', () => {
  begin([
    file,
    {
      mediaType: 'application/pdf',
      blob: `=input.path = "a.txt" ? "${'b'.repeat(64)}" : ""`,
    },
  ]);
  expect(said()).toEqual([
    { role: 'system', text: 'Be brief.' },
    {
      ...{ role: 'user', text: 'Sum up a.txt' },
      files: [file, { mediaType: 'application/pdf', blob: 'b'.repeat(64) }],
    },
  ]);
});

test.each([
  ['one that stands alone is a list of one', file, [file]],
  ['an input that is not there is none', '=input.pictures', undefined],
  ['an empty list is none', [], undefined],
])('%s', (_, given, files) => {
  begin(given as ModelAgent['files']);
  expect((said() as { files?: unknown }[]).at(-1)?.files).toEqual(files);
});

test.each([
  ['no digest', [file, { mediaType: 'image/png', blob: '../etc/passwd' }], 'no file at place 2'],
  ['no media type', { mediaType: 'a picture', blob }, 'no file at place 1'],
  ['bytes themselves', { ...file, base64: 'aGk=' }, 'no file at place 1'],
  ['too many', Array.from({ length: 21 }, () => file), 'gives 21, and 20 is the limit'],
])('%s: the task fails with what is wrong and what to do', (_, given, problem) => {
  begin(given as ModelAgent['files']);
  const { data, content } = newest(bench.events, 'task.failed');
  expect(data).toMatchObject({ code: 'FILES_INVALID', class: 'expression', retryable: false });
  expect(textOf(content.message)).toContain(problem);
  expect(textOf(content.message)).toContain('longrein file put');
});
