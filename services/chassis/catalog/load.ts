/**
 * Reads catalog directories into one catalog. Every problem of every file is found in one go: a
 * person corrects them together. Read once, at start; nothing here watches files.
 */

import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';
import type { ModelRoute } from '../../../schemas/definitions/catalog.ts';
import type { GoalRule } from '../../../schemas/definitions/goal-rule.ts';
import type { McpServerDefinition } from '../../../schemas/definitions/mcp-server.ts';
import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import type { PoolDefinition } from '../../../schemas/definitions/pool.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import { LongreinError } from '../errors.ts';
import { validateAgent } from './agent-rules.ts';
import { builtInTools } from './built-in-tools.ts';
import { type Catalog, createCatalog } from './catalog.ts';
import { validateDelegation } from './delegation-rules.ts';
import {
  type CatalogFile,
  type CatalogFolder,
  directoryProblems,
  fileOfDirectory,
  filesOfFolder,
  readSource,
} from './directory.ts';
import { namedRules, validateGoalRule } from './goal-rules.ts';
import type { CatalogNames } from './known-names.ts';
import { type CatalogProblem, compareProblems, formatProblems, type Violation } from './problem.ts';
import { createRegistry, type Entry, type Registry } from './registry.ts';
import { validatePlan } from './rules.ts';
import { definitionReaders, type Reader } from './schema.ts';
import { withServerChecks } from './server-checks.ts';
import { schemaCheck, validateServer, validateTool } from './tool-rules.ts';
import {
  completeAgent,
  completePlan,
  completePools,
  completeServers,
  completeTool,
} from './written.ts';
import type { YamlSource } from './yaml-source.ts';

export type LoadedCatalog = Readonly<{ catalog: Catalog; problems: readonly CatalogProblem[] }>;

/**
 * `models` overrides aliases of the files, such as those that a person chose in the environment. `agentFiles` are looked
 * at as if they stood in the catalog, in the place of agents of the same name.
 */
export type LoadOptions = Readonly<{
  models?: Readonly<Record<string, string>>;
  agentFiles?: readonly string[];
}>;

/**
 * The catalog of `directories` (each with folders `plans`, `agents`, `tools`, `scripts` and files
 * `pools.yaml`, `mcp-servers.yaml`, `models.yaml`, `rules.yaml`, all optional) and what is wrong with it. Does
 * not throw for bad files.
 */
export function loadCatalog(
  directories: readonly string[],
  options: LoadOptions = {},
): LoadedCatalog {
  const loading = new Loading(directories, options);
  loading.read();
  loading.check();
  return loading.finish();
}

/**
 * The same, for a start that must not go on with a bad file. Throws LongreinError CATALOG_INVALID.
 */
export function requireCatalog(directories: readonly string[], options: LoadOptions = {}): Catalog {
  const { catalog, problems } = loadCatalog(directories, options);
  if (problems.length === 0) return catalog;
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  const message = `The catalog has ${count}:\n${formatProblems(problems)}`;
  throw new LongreinError('CATALOG_INVALID', message, {
    fix: 'Correct the files at the places above, then start again.',
  });
}

type Named<T> = readonly [name: string, value: T];

class Loading {
  private readonly directories: readonly string[];
  private readonly problems: CatalogProblem[] = [];
  private readonly readers = definitionReaders();
  private readonly plans = createRegistry<PlanDefinition>('plan', this.problems);
  private readonly agents = createRegistry<AgentDefinition>('agent', this.problems);
  private readonly tools = createRegistry<ToolDefinition>('tool', this.problems);
  private readonly pools = createRegistry<PoolDefinition>('pool', this.problems);
  private readonly servers = createRegistry<McpServerDefinition>('MCP server', this.problems);
  private readonly models = createRegistry<ModelRoute>('model', this.problems);
  private readonly rules = createRegistry<GoalRule>('rule', this.problems);
  private readonly chosen: Readonly<Record<string, string>>;
  private readonly agentFiles: readonly string[];

  constructor(directories: readonly string[], { models = {}, agentFiles = [] }: LoadOptions) {
    this.directories = directories;
    this.chosen = models;
    this.agentFiles = agentFiles;
  }

  read(): void {
    const { plan, agent, tool, pools, servers, models, rules } = this.readers;
    this.problems.push(...this.directories.flatMap(directoryProblems));
    this.readFolder('plans', this.plans, (value) => map(plan(value), completePlan));
    this.readFolder('agents', this.agents, (value) => map(agent(value), completeAgent));
    this.readFolder('tools', this.tools, (value) => map(tool(value), completeTool));
    this.readFile('pools', this.pools, (value) => map(pools(value), completePools));
    this.readFile('mcp-servers', this.servers, (value) => map(servers(value), completeServers));
    this.readFile('models', this.models, (value) => map(models(value), Object.entries));
    this.readFile('rules', this.rules, (value) => map(rules(value), namedRules));
  }

  check(): void {
    const names = this.names();
    const checkSchema = schemaCheck();
    this.apply(this.plans, (plan) => validatePlan(plan, names));
    const tools = this.allTools();
    const agents = this.agents.values();
    this.apply(this.agents, (agent) => [
      ...validateAgent(agent, names, checkSchema),
      ...validateDelegation(agent, { agents, tools, names: names.agents }),
    ]);
    this.apply(this.tools, (tool) => validateTool(tool, names, checkSchema));
    this.apply(this.servers, validateServer);
    const known = { ...names, plans: this.plans.names() };
    this.apply(this.rules, (rule) => validateGoalRule(rule, known));
  }

  finish(): LoadedCatalog {
    const problems = this.problems.sort(compareProblems);
    const parts = {
      plans: this.plans.values(),
      agents: withServerChecks(this.agents.values(), this.allTools()),
      tools: this.allTools(),
      pools: this.pools.entries().map(({ value }) => value),
      mcpServers: this.servers.values(),
      models: { ...this.models.values(), ...this.chosen },
      goalRules: this.rules.entries().map(({ value }) => value),
      scripts: this.directories.flatMap((directory) => filesOfFolder(directory, 'scripts')),
    };
    const fileOf = new Map([
      ...filesOf('plan', this.plans),
      ...filesOf('agent', this.agents),
      ...filesOf('tool', this.tools),
      ...filesOf('pool', this.pools),
      ...filesOf('server', this.servers),
      ...filesOf('model', this.models),
    ]);
    const catalog = createCatalog(parts, { names: this.names(), problems, fileOf });
    return { catalog, problems };
  }

  private allTools(): Record<string, ToolDefinition> {
    return { ...builtInTools, ...this.tools.values() };
  }

  private names(): CatalogNames {
    return {
      pools: this.pools.names(),
      agents: this.agents.names(),
      tools: [...this.tools.names(), ...Object.keys(builtInTools)],
      models: [...this.models.names(), ...Object.keys(this.chosen)],
      mcpServers: this.servers.names(),
    };
  }

  private readFolder<T extends Readonly<{ name: string }>>(
    folder: CatalogFolder,
    registry: Registry<T>,
    reader: Reader<T>,
  ): void {
    const given = folder === 'agents' ? this.agentFiles : [];
    const found = this.directories.flatMap((each) => filesOfFolder(each, folder));
    for (const path of new Set([...given, ...found])) {
      const source = readSource(path);
      const value = this.valueOf(source, reader);
      if (value !== undefined) registry.add({ name: value.name, value, source, path: [] });
      else registry.declare(nameIn(source), path);
    }
  }

  private readFile<T>(file: CatalogFile, registry: Registry<T>, reader: Reader<Named<T>[]>): void {
    for (const directory of this.directories) {
      const path = fileOfDirectory(directory, file);
      if (path === undefined) continue;
      const source = readSource(path);
      const named = this.valueOf(source, reader);
      for (const name of named === undefined ? namesIn(source) : []) registry.declare(name, path);
      for (const [index, [name, value]] of (named ?? []).entries()) {
        registry.add({ name, value, source, path: Array.isArray(source.value) ? [index] : [name] });
      }
    }
  }

  private valueOf<T>(source: YamlSource, reader: Reader<T>): T | undefined {
    this.problems.push(...source.problems);
    if (source.value === undefined) return undefined;
    const read = reader(source.value);
    if ('value' in read) return read.value;
    this.problems.push(...read.violations.map(source.problemAt));
    return undefined;
  }

  private apply<T>(registry: Registry<T>, rules: (value: T) => Violation[]): void {
    for (const entry of registry.entries()) {
      this.problems.push(...rules(entry.value).map((found) => placed(entry, found)));
    }
  }
}

function placed<T>({ source, path }: Entry<T>, found: Violation): CatalogProblem {
  return source.problemAt({ ...found, path: [...path, ...found.path] });
}

function map<T, U>(read: ReturnType<Reader<T>>, complete: (value: T) => U): ReturnType<Reader<U>> {
  return 'value' in read ? { value: complete(read.value) } : read;
}

/** The name that a broken file means to define: its member `name`, else that of the file. */
function nameIn({ draft, file }: YamlSource): string {
  const name: unknown = Object(draft).name;
  return typeof name === 'string' ? name : file.replace(/^.*[\\/]|\.ya?ml$/g, '');
}

/** The same for a file of many definitions: a list of objects with names, or an object of them. */
function namesIn({ draft }: YamlSource): string[] {
  const names: unknown[] = Array.isArray(draft)
    ? draft.map((item) => Object(item).name)
    : Object.keys(Object(draft));
  return names.filter((name) => typeof name === 'string');
}

function filesOf<T>(kind: string, registry: Registry<T>): [string, string][] {
  return registry.names().map((name) => [`${kind}:${name}`, registry.fileOf(name) ?? '']);
}
