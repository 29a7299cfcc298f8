import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadCatalog, requireCatalog } from '../../../../../services/chassis/catalog/load.ts';
import { formatProblems } from '../../../../../services/chassis/catalog/problem.ts';
import { catalogDirectory, soundFiles } from '../../../../support/catalog-directory.ts';
import { catalogMistakes } from '../../../../support/catalog-mistakes.ts';

describe('a file with one mistake gives one problem at its place', () => {
  test.each(catalogMistakes)('$name', ({ file, from, to, at, reason, fix }) => {
    const text = soundFiles[file] ?? '';
    expect(text).toContain(from);
    const directory = catalogDirectory({ ...soundFiles, [file]: text.replace(from, () => to) });
    const { problems } = loadCatalog([directory]);
    expect(problems.map((problem) => `${problem.line}:${problem.column}`)).toEqual([at]);
    const [problem] = problems;
    expect(problem?.file).toBe(join(directory, file));
    expect(problem?.reason).toMatch(reason);
    expect(problem?.fix).toMatch(fix);
  });
});

describe('a catalog without problems', () => {
  const load = () => loadCatalog([catalogDirectory(soundFiles)]);

  test('has every definition, with defaults filled in', () => {
    const { catalog, problems } = load();
    expect(formatProblems(problems)).toBe('');
    expect(catalog.plan('pair')).toEqual({
      name: 'pair',
      version: '1.0.0',
      description: 'Two tasks.',
      inputs: {
        path: { type: 'string', required: true, description: 'The file.' },
        depth: { type: 'number', required: false, default: 2 },
        deep: { type: 'boolean', required: false },
      },
      tasks: [
        { ...taskDefaults, id: 'one', agent: 'worker', needs: [], input: { path: '=inputs.path' } },
        { ...taskDefaults, id: 'two', agent: 'writer', needs: ['one'], input: {} },
      ],
      output: { kind: 'collect', conflict: 'list', tasks: ['two'], shape: '=tasks.two' },
    });
    expect(catalog.pools).toEqual([{ name: 'work', description: 'Works.' }]);
    expect(catalog.mcpServers.files).toMatchObject({ startTimeoutMs: 10_000, trusted: false });
    expect(catalog.agents.writer).toMatchObject({
      stepsMax: 8,
      modelAttemptsMax: 3,
      output: 'text',
    });
    expect(catalog.tools.echo).toMatchObject({ idempotent: true, timeoutMs: 30_000 });
    expect(catalog.tools.read).toMatchObject({ idempotent: false });
  });

  test('takes the = of a condition as the same expression without it', () => {
    const worker = load().catalog.agents.worker;
    expect(worker?.kind === 'procedure' && worker.steps[1]?.when).toBe('steps.first.said = "go"');
  });

  test('pins what the plan uses and nothing else', () => {
    const files = {
      ...soundFiles,
      'tools/other.yaml': renamed('tools/echo.yaml', 'echo', 'other'),
    };
    const pinned = loadCatalog([catalogDirectory(files)]).catalog.pinnedFor('pair');
    expect(pinned?.plan.name).toBe('pair');
    expect(Object.keys(pinned?.agents ?? {})).toEqual(['worker', 'writer']);
    expect(Object.keys(pinned?.tools ?? {})).toEqual(['echo', 'read', 'mcp.check.files']);
    expect(pinned?.models).toEqual({ writer: 'scripted/writer' });
  });

  test('pins the same bytes again from the same files', () => {
    const pin = () => JSON.stringify(load().catalog.pinnedFor('pair'));
    expect(pin()).toBe(pin());
  });

  test('lets the one who starts it choose another model for an alias', () => {
    const models = { writer: 'openai/gpt-4o-mini' };
    const { catalog } = loadCatalog([catalogDirectory(soundFiles)], { models });
    expect(catalog.pinnedFor('pair')?.models).toEqual(models);
  });

  test('lists the files of the scripted provider without reading them', () => {
    const directory = catalogDirectory({ ...soundFiles, 'scripts/demo.yaml': ': not yaml [' });
    const { catalog, problems } = loadCatalog([directory]);
    expect(problems).toEqual([]);
    expect(catalog.scripts).toEqual([join(directory, 'scripts/demo.yaml')]);
  });

  test('knows nothing of names that it does not have', () => {
    const { catalog } = load();
    for (const name of ['nope', 'toString', '__proto__']) {
      expect(catalog.plan(name)).toBeUndefined();
      expect(catalog.pinnedFor(name)).toBeUndefined();
      expect(catalog.problemsOfPlan(name)).toEqual([]);
    }
  });
});

describe('several directories', () => {
  test('are one catalog: a plan of one may use agents and pools of another', () => {
    const { 'plans/pair.yaml': plan = '', ...rest } = soundFiles;
    const directories = [catalogDirectory({ 'plans/pair.yaml': plan }), catalogDirectory(rest)];
    expect(loadCatalog(directories).problems).toEqual([]);
  });

  test('may not define the same name twice, and the first counts', () => {
    const first = catalogDirectory(soundFiles);
    const second = catalogDirectory({
      'plans/pair.yaml': soundFiles['plans/pair.yaml'] ?? '',
      'pools.yaml': '- name: work\n  description: Other.\n',
      'models.yaml': '# the same alias\nwriter: other/model\n',
    });
    const { catalog, problems } = loadCatalog([first, second]);
    expect(problems.map(({ file, line, reason }) => [file, line, reason.slice(0, 30)])).toEqual([
      [join(second, 'models.yaml'), 2, 'There is another model "writer'],
      [join(second, 'plans/pair.yaml'), 1, 'There is another plan "pair" i'],
      [join(second, 'pools.yaml'), 1, 'There is another pool "work" i'],
    ]);
    expect(problems[1]?.reason).toContain(join(first, 'plans/pair.yaml'));
    expect(catalog.models.writer).toBe('scripted/writer');
  });

  test('that are not there are a problem', () => {
    const missing = join(catalogDirectory({}), 'nowhere');
    expect(loadCatalog([missing]).problems).toMatchObject([
      { file: missing, line: 1, reason: 'There is no such directory.' },
    ]);
  });
});

describe('problems', () => {
  const broken = {
    ...soundFiles,
    'plans/pair.yaml': (soundFiles['plans/pair.yaml'] ?? '').replaceAll('pool: work', 'pool: play'),
    'agents/writer.yaml': 'kind: model\nname: writer\n',
    'tools/read.yaml': '[',
  };

  test('of all files are reported together, by file and place', () => {
    const directory = catalogDirectory(broken);
    const { problems } = loadCatalog([directory]);
    const places = problems.map(({ file, line }) => `${file.slice(directory.length + 1)}:${line}`);
    expect(new Set(places)).toEqual(
      new Set([
        'agents/writer.yaml:1',
        'plans/pair.yaml:10',
        'plans/pair.yaml:14',
        'tools/read.yaml:1',
      ]),
    );
    expect(places).toEqual([...places].sort());
  });

  test('of a broken file are not repeated by what refers to it', () => {
    const { problems } = loadCatalog([catalogDirectory(broken)]);
    expect(problems.filter(({ reason }) => /no (agent|tool) "/.test(reason))).toEqual([]);
  });

  test('keep a plan from being pinned, and others not', () => {
    const files = { ...broken, 'pools.yaml': '- { name: play, description: Plays. }\n' };
    const other = renamed('plans/pair.yaml', 'pair', 'other').replace(
      'agent: writer',
      'agent: echoer',
    );
    const { catalog } = loadCatalog([
      catalogDirectory({
        ...files,
        'plans/other.yaml': other
          .replaceAll('agent: worker', 'agent: echoer')
          .replaceAll('work', 'play'),
        'agents/echoer.yaml': [
          'kind: procedure\nname: echoer\nversion: 1.0.0\ndescription: Echoes.\nrole: tester',
          'tools: [echo]\nsteps: [{ id: a, tool: echo, arguments: {} }]\noutput: =steps.a\n',
        ].join('\n'),
      }),
    ]);
    expect(catalog.pinnedFor('pair')).toBeUndefined();
    expect(catalog.problemsOfPlan('pair').length).toBeGreaterThan(0);
    expect(catalog.problemsOfPlan('other')).toEqual([]);
    expect(catalog.pinnedFor('other')).toBeDefined();
  });

  test('stop a start that requires a good catalog, with one readable error', () => {
    const directory = catalogDirectory(broken);
    expect(() => requireCatalog([directory])).toThrow(
      expect.objectContaining({
        code: 'CATALOG_INVALID',
        message: expect.stringMatching(/has \d+ problems:\n.*writer\.yaml:1:1 /s),
        fix: expect.stringContaining('start again'),
      }),
    );
    expect(requireCatalog([catalogDirectory(soundFiles)]).plan('pair')).toBeDefined();
  });
});

test('the example catalog and the catalog of the tests have no problems, alone and together', () => {
  for (const directories of [
    ['deploy/examples'],
    ['test/fixtures/catalog'],
    ['deploy/examples', 'test/fixtures/catalog'],
  ]) {
    expect(formatProblems(loadCatalog(directories).problems)).toBe('');
  }
});

const taskDefaults = {
  pool: 'work',
  priority: 0,
  timeoutMs: 60_000,
  attemptsMax: 3,
  backoffMs: 500,
  onFailure: 'fail',
};

function renamed(file: keyof typeof soundFiles & string, from: string, to: string): string {
  return (soundFiles[file] ?? '').replace(`name: ${from}`, `name: ${to}`);
}
