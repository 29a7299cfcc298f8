import { soundFiles } from './catalog-directory.ts';

/** One mistake in one file of a sound catalog, and the problem that it must give. */
export type CatalogMistake = Readonly<{
  name: string;
  file: keyof typeof soundFiles & string;
  from: string;
  to: string;
  /** line:column, and what reason and fix must say. */
  at: string;
  reason: RegExp;
  fix: RegExp;
}>;

export const catalogMistakes: readonly CatalogMistake[] = [
  ...unreadable(),
  ...wrongShapes(),
  ...wrongPlans(),
  ...wrongAgents(),
  ...wrongTools(),
  ...wrongExpressions(),
];

function unreadable(): CatalogMistake[] {
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

function wrongShapes(): CatalogMistake[] {
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

function wrongPlans(): CatalogMistake[] {
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

function wrongAgents(): CatalogMistake[] {
  const worker = 'agents/worker.yaml';
  return [
    {
      ...{
        name: 'an unknown tool of an agent',
        file: 'agents/writer.yaml',
        from: 'model: writer',
        to: 'model: writer\ntools: [hammer]',
      },
      ...{ at: '7:9', reason: /no tool "hammer"/, fix: /echo, handoff, read/ },
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
    ...wrongPolicies(),
    ...wrongEmbeddings(),
  ];
}

/** Each adds members to the agent that a model drives. */
function wrongPolicies(): CatalogMistake[] {
  const from = 'model: writer';
  const mistake = (
    name: string,
    added: string,
    found: Omit<CatalogMistake, 'name' | 'file' | 'from' | 'to'>,
  ) => ({
    ...{ name, file: 'agents/writer.yaml', from, to: `${from}\n${added}`, ...found },
  });
  return [
    mistake('a misspelt member of an agent', 'stepMax: 3', {
      ...{ at: '7:1', reason: /"stepMax" is unknown/, fix: /Did you mean "stepsMax"\?/ },
    }),
    mistake('a misspelt tool of an agent', 'tools: [raed]', {
      ...{
        at: '7:9',
        reason: /no tool "raed"/,
        fix: /Did you mean "read"\? Use one of: ask_person, delegate, echo, handoff, read/,
      },
    }),
    ...wrongDelegations(mistake),
    mistake('memory, which is not there', 'memory: { kind: shared }', {
      ...{ at: '7:11', reason: /has no memory service/, fix: /kind: none/ },
    }),
    mistake('an unknown agent that takes over', 'onError: { replaceWith: [{ agent: nobody }] }', {
      ...{ at: '7:28', reason: /no agent "nobody"/, fix: /Use one of/ },
    }),
    mistake(
      'a breaker that sends tasks to nobody',
      'onError: { breaker: { meanwhile: replace } }',
      { at: '7:23', reason: /"replaceWith" names none/, fix: /Add \{agent: NAME\}/ },
    ),
    mistake('too many restarts', 'onError: { restart: 11 }', {
      ...{ at: '7:12', reason: /"restart" must be <= 10/, fix: /0 to 10/ },
    }),
    mistake('an unknown model that takes over', 'onError: { models: [wrtier] }', {
      ...{ at: '7:21', reason: /no model "wrtier"/, fix: /Did you mean "writer"/ },
    }),
    mistake('a schema of the output with a misspelt keyword', 'outputSchema: { typ: object }', {
      ...{ at: '7:1', reason: /"outputSchema" is not a valid JSON Schema.*typ/, fix: /2020-12/ },
    }),
    mistake('a schema of an output that is text', 'output: text\noutputSchema: { type: object }', {
      ...{ at: '7:1', reason: /"output" says text/, fix: /output: json/ },
    }),
    mistake(
      'a pinned tool that the agent does not have',
      'context: { tokensMax: 900, pin: [echo] }',
      {
        ...{ at: '7:34', reason: /no tool of this agent "echo"/, fix: /./ },
      },
    ),
    mistake('a summary that does not fit', 'context: { tokensMax: 900, overflow: summarise }', {
      ...{ at: '7:1', reason: /512 tokens does not fit/, fix: /at most 450/ },
    }),
    mistake('a limit of cost that is nothing', 'costNanoUsdMax: 0', {
      ...{ at: '7:1', reason: /must be >= 1/, fix: /Nano-USD/ },
    }),
  ];
}

type AddedMistake = (
  name: string,
  added: string,
  found: Omit<CatalogMistake, 'name' | 'file' | 'from' | 'to'>,
) => CatalogMistake;

/** Of agents that give work to others. */
function wrongDelegations(mistake: AddedMistake): CatalogMistake[] {
  const rights = 'tools: [delegate, echo]\ndelegates: { agents: [worker] }';
  return [
    mistake('delegates without the tool for it', 'delegates: { agents: [writer] }', {
      ...{ at: '7:1', reason: /do not list "delegate"/, fix: /Add "delegate"/ },
    }),
    mistake('the tool for it without delegates', 'tools: [handoff]', {
      ...{ at: '7:9', reason: /nothing says which agents/, fix: /Add "handoffs"/ },
    }),
    mistake('a misspelt delegate', 'tools: [delegate]\ndelegates: { agents: [wirter] }', {
      ...{ at: '8:23', reason: /no agent "wirter"/, fix: /Did you mean "writer"/ },
    }),
    mistake('a delegate with rights beyond those of who delegates', rights, {
      ...{ at: '8:23', reason: /"worker" may call "read", which this agent does not/, fix: /./ },
    }),
    mistake('too deep', 'tools: [delegate]\ndelegates: { agents: [writer], depthMax: 9 }', {
      ...{ at: '8:32', reason: /must be <= 8/, fix: /1 to 8/ },
    }),
  ];
}

/** In the place of the first step of the worker. */
function wrongEmbeddings(): CatalogMistake[] {
  const at = {
    file: 'agents/worker.yaml',
    from: '    tool: echo\n    arguments: { said: =input.said }',
  };
  const embed = (text: string): string => `    embed: { ${text} }`;
  return [
    {
      ...{
        ...at,
        name: 'an unknown model for vectors',
        to: embed('model: poet, texts: =input.said'),
      },
      ...{ at: '9:14', reason: /no model "poet"/, fix: /writer/ },
    },
    {
      ...{
        ...at,
        name: 'vectors of a bad expression',
        to: embed('model: writer, texts: =$eval("1")'),
      },
      ...{ at: '9:29', reason: /embed\.texts.*\$eval/, fix: /./ },
    },
    {
      ...{ ...at, name: 'vectors of nothing', to: embed('model: writer') },
      ...{ at: '9:5', reason: /"embed" has no "texts"/, fix: /Add "texts"/ },
    },
    {
      ...{
        ...at,
        name: 'vectors beside a tool',
        to: `    tool: echo\n${embed('model: writer, texts: [a]')}`,
      },
      ...{ at: '9:5', reason: /"tool" does not go with/, fix: /Remove it/ },
    },
    {
      ...{ ...at, name: 'a step without arguments', to: '    tool: echo' },
      ...{ at: '8:5', reason: /has no "arguments"/, fix: /Add "arguments"/ },
    },
  ];
}

function wrongTools(): CatalogMistake[] {
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
        name: 'a limit of silence where nobody can tell of progress',
        file: 'tools/echo.yaml',
        from: 'risk: low',
        to: 'risk: low\nsilenceMs: 500',
      },
      ...{ at: '6:1', reason: /Only a tool of an MCP server can tell/, fix: /timeoutMs/ },
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

function wrongExpressions(): CatalogMistake[] {
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
