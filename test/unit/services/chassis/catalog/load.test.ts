import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadCatalog, requireCatalog } from '../../../../../services/chassis/catalog/load.ts';
import { formatProblems } from '../../../../../services/chassis/catalog/problem.ts';
import { catalogDirectory, soundFiles } from '../../../../support/catalog-directory.ts';

type Case = Readonly<{
  name: string;
  file: keyof typeof soundFiles & string;
  from: string;
  to: string;
  /** line:column, and what reason and fix must say. */
  at: string;
  reason: RegExp;
  fix: RegExp;
}>;

const cases: readonly Case[] = [
  ...unreadable(),
  ...wrongShapes(),
  ...wrongPlans(),
  ...wrongAgents(),
  ...wrongTools(),
  ...wrongExpressions(),
];

describe('a file with one mistake gives one problem at its place', () => {
  test.each(cases)('$name', ({ file, from, to, at, reason, fix }) => {
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
    expect(catalog.pools).toEqual([{ name: 'work', description: 'Works.', concurrencyMax: 8 }]);
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
    expect(Object.keys(pinned?.tools ?? {})).toEqual(['echo', 'read']);
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

function unreadable(): Case[] {
  const file = 'pools.yaml';
  return [
    {
      ...{ name: 'text that is not YAML', file, from: 'Works.', to: '"Works.' },
      ...{ at: '3:1', reason: /not valid YAML/, fix: /Correct the YAML/ },
    },
    {
      ...{
        name: 'a member that stands twice',
        file: 'models.yaml',
        from: 'writer',
        to: 'writer: a/b\nwriter',
      },
      ...{ at: '2:1', reason: /not valid YAML.*unique/, fix: /Correct the YAML/ },
    },
    {
      ...{
        name: 'a number that JSON does not know',
        file: 'plans/pair.yaml',
        from: 'default: 2',
        to: 'default: .inf',
      },
      ...{ at: '6:26', reason: /cannot stand in JSON/, fix: /Use text, a number/ },
    },
    {
      ...{
        name: 'a tag that YAML cannot resolve',
        file: 'models.yaml',
        from: 'scripted',
        to: '!js scripted',
      },
      ...{ at: '1:9', reason: /Unresolved tag/, fix: /Correct/ },
    },
  ];
}

function wrongShapes(): Case[] {
  const plan = 'plans/pair.yaml';
  return [
    {
      ...{ name: 'an unknown member', file: plan, from: 'needs:', to: 'need:' },
      ...{ at: '16:5', reason: /"need" is unknown/, fix: /needs/ },
    },
    {
      ...{ name: 'a missing member', file: plan, from: '    pool: work\n', to: '' },
      ...{ at: '9:5', reason: /has no "pool"/, fix: /Add "pool"/ },
    },
    {
      ...{ name: 'a version that is a number', file: plan, from: '1.0.0', to: '1.0' },
      ...{ at: '2:1', reason: /"version" must be string/, fix: /"1\.0\.0"/ },
    },
    {
      ...{ name: 'an id with spaces', file: plan, from: 'id: one', to: 'id: one two' },
      ...{ at: '9:5', reason: /"id" must match/, fix: /Expected: A letter/ },
    },
    {
      ...{
        name: 'an unknown kind of agent',
        file: 'agents/writer.yaml',
        from: 'kind: model',
        to: 'kind: robot',
      },
      ...{ at: '1:1', reason: /no known "kind"/, fix: /procedure, model/ },
    },
    {
      ...{
        name: 'an unknown kind of runner',
        file: 'tools/echo.yaml',
        from: 'builtin',
        to: 'shell',
      },
      ...{ at: '7:1', reason: /"runner" has no known "kind"/, fix: /builtin, mcp, sandbox/ },
    },
    {
      ...{
        name: 'a value outside a list',
        file: 'tools/echo.yaml',
        from: 'risk: low',
        to: 'risk: tiny',
      },
      ...{ at: '5:1', reason: /"risk" has an unknown value/, fix: /low, medium, high, critical/ },
    },
    {
      ...{
        name: 'a number above its limit',
        file: plan,
        from: '    pool: work',
        to: '    pool: work\n    attemptsMax: 21',
      },
      ...{ at: '11:5', reason: /"attemptsMax" must be <= 20/, fix: /1 to 20/ },
    },
    {
      ...{
        name: 'a model that is no model name',
        file: 'models.yaml',
        from: 'scripted/writer',
        to: 'scripted',
      },
      ...{ at: '1:1', reason: /"writer" must match/, fix: /provider\/model/ },
    },
    {
      ...{
        name: 'the value of a variable in the list of variables',
        file: 'mcp-servers.yaml',
        from: 'HOME',
        to: 'TOKEN=abc',
      },
      ...{ at: '6:9', reason: /must match/, fix: /never a value/ },
    },
    {
      ...{
        name: 'a name of a server with a capital',
        file: 'mcp-servers.yaml',
        from: 'files:',
        to: 'files: { package: a, bin: b }\nFiles:',
      },
      ...{ at: '2:1', reason: /"Files" is no name/, fix: /Lower-case/ },
    },
    {
      ...{
        name: 'a file that is a text',
        file: 'agents/writer.yaml',
        from: soundFiles['agents/writer.yaml'] ?? '',
        to: 'hello',
      },
      ...{ at: '1:1', reason: /The file must be object/, fix: /./ },
    },
  ];
}

function wrongPlans(): Case[] {
  const file = 'plans/pair.yaml';
  return [
    {
      ...{
        name: 'a cycle',
        file,
        from: '    agent: worker',
        to: '    agent: worker\n    needs: [two]',
      },
      ...{ at: '12:5', reason: /wait for one another: one -> two -> one/, fix: /Remove one/ },
    },
    {
      ...{ name: 'a task that needs itself', file, from: 'needs: [one]', to: 'needs: [two]' },
      ...{ at: '16:5', reason: /two -> two/, fix: /Remove/ },
    },
    {
      ...{
        name: 'the same id twice',
        file,
        from: 'output:',
        to: '  - { id: one, pool: work, agent: writer }\noutput:',
      },
      ...{ at: '17:7', reason: /another task "one" above/, fix: /id of its own/ },
    },
    {
      ...{ name: 'an unknown pool', file, from: 'pool: work', to: 'pool: wrok' },
      ...{ at: '10:5', reason: /no pool "wrok"/, fix: /Use one of: work/ },
    },
    {
      ...{ name: 'an unknown agent', file, from: 'agent: writer', to: 'agent: painter' },
      ...{ at: '15:5', reason: /no agent "painter"/, fix: /worker, writer/ },
    },
    {
      ...{ name: 'an unknown need', file, from: 'needs: [one]', to: 'needs: [one, three]' },
      ...{ at: '16:18', reason: /no task "three"/, fix: /one, two/ },
    },
    {
      ...{ name: 'an unknown task in the output', file, from: 'tasks: [two]', to: 'tasks: [six]' },
      ...{ at: '19:11', reason: /no task "six"/, fix: /one, two/ },
    },
    {
      ...{ name: 'a default of another type', file, from: 'default: 2', to: 'default: two' },
      ...{ at: '6:26', reason: /default of "depth" is not a number/, fix: /default or the type/ },
    },
  ];
}

function wrongAgents(): Case[] {
  const worker = 'agents/worker.yaml';
  return [
    {
      ...{
        name: 'an unknown tool of an agent',
        file: 'agents/writer.yaml',
        from: 'model: writer',
        to: 'model: writer\ntools: [hammer]',
      },
      ...{ at: '7:9', reason: /no tool "hammer"/, fix: /echo, read/ },
    },
    {
      ...{
        name: 'a step whose tool the agent does not list',
        file: worker,
        from: 'tools: [echo, read]',
        to: 'tools: [echo]',
      },
      ...{ at: '12:5', reason: /calls "read".*do not list/, fix: /Add "read"/ },
    },
    {
      ...{ name: 'two steps of one id', file: worker, from: 'id: second', to: 'id: first' },
      ...{ at: '11:5', reason: /another step "first"/, fix: /id of its own/ },
    },
    {
      ...{
        name: 'an unknown alias of a model',
        file: 'agents/writer.yaml',
        from: 'model: writer',
        to: 'model: poet',
      },
      ...{ at: '6:1', reason: /no model "poet"/, fix: /writer/ },
    },
  ];
}

function wrongTools(): Case[] {
  return [
    {
      ...{
        name: 'an unknown MCP server',
        file: 'tools/read.yaml',
        from: 'server: files',
        to: 'server: disks',
      },
      ...{ at: '7:22', reason: /no MCP server "disks"/, fix: /files/ },
    },
    {
      ...{
        name: 'an input schema with a misspelt keyword',
        file: 'tools/read.yaml',
        from: '  properties',
        to: '  propertys',
      },
      ...{ at: '9:1', reason: /not a valid JSON Schema.*propertys/, fix: /2020-12/ },
    },
    {
      ...{
        name: 'an input schema that is not of an object',
        file: 'tools/echo.yaml',
        from: 'type: object',
        to: 'type: array',
      },
      ...{ at: '9:1', reason: /arguments of a tool are an object/, fix: /type: object/ },
    },
    {
      ...{
        name: 'a variable that nobody fills in',
        file: 'mcp-servers.yaml',
        from: `\${workspace}/sub`,
        to: `\${home}`,
      },
      ...{ at: '4:26', reason: /"\$\{home\}" has no value/, fix: /workspace/ },
    },
  ];
}

function wrongExpressions(): Case[] {
  return [
    {
      ...{
        name: 'a bad expression in the input of a task',
        file: 'plans/pair.yaml',
        from: '=inputs.path',
        to: '=inputs.',
      },
      ...{ at: '12:14', reason: /tasks\[0\]\.input\.path/, fix: /./ },
    },
    {
      ...{
        name: 'a bad expression in the shape of the output',
        file: 'plans/pair.yaml',
        from: '=tasks.two',
        to: '=(',
      },
      ...{ at: '20:3', reason: /output\.shape/, fix: /./ },
    },
    {
      ...{
        name: 'a bad expression in the arguments of a step',
        file: 'agents/worker.yaml',
        from: 'path: =input.path',
        to: 'path: =1 +',
      },
      ...{ at: '15:7', reason: /steps\[1\]\.arguments\.path/, fix: /./ },
    },
    {
      ...{
        name: 'a bad condition of a step',
        file: 'agents/worker.yaml',
        from: '=steps.first.said = "go"',
        to: '$random() > 0',
      },
      ...{ at: '13:5', reason: /steps\[1\]\.when.*\$random is not allowed/, fix: /as an input/ },
    },
    {
      ...{
        name: 'a bad prompt',
        file: 'agents/writer.yaml',
        from: '=$string(input)',
        to: '=$string(',
      },
      ...{ at: '7:1', reason: /expression in prompt/i, fix: /./ },
    },
  ];
}
