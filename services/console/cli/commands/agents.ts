/** The agents of the catalog: whether their files are right, which there are, and what one of them is. */
import type { AgentDefinition } from '../../../../schemas/definitions/agent.ts';
import type { CatalogProblem } from '../../../chassis/catalog/problem.ts';
import { hashOf } from '../../../chassis/protocol/hash.ts';
import { nearest } from '../../../chassis/words/nearest.ts';
import { type Call, type CommandSpec, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { table } from '../table.ts';

async function load(call: Call, files: readonly string[] = []) {
  const { catalogDirsOf } = await import('../../../chassis/config/runtime-config.ts');
  const { loadCatalog } = await import('../../../chassis/catalog/load.ts');
  const { resolve } = await import('node:path');
  const agentFiles = files.map((file) => resolve(call.workingDir, file));
  const directories = catalogDirsOf(call.environment);
  return { directories, agentFiles, ...loadCatalog(directories, { agentFiles }) };
}

const isOfAgents = ({ file }: CatalogProblem): boolean => /[\\/]agents[\\/][^\\/]+$/.test(file);

/** Like a compiler: one line for each problem, and exit code 1 if there is one. */
export const agentsCheck: CommandSpec = {
  name: 'check [file...]',
  about: 'whether agent files are right; without a file, all of the catalog',
  examples: ['longrein agents check', 'longrein agents check my-agents/reviewer.yaml'],
  async run(call) {
    const { catalog, problems: all, agentFiles, directories } = await load(call, call.args);
    const isMeant = ({ file }: CatalogProblem): boolean => agentFiles.includes(file);
    const problems = all.filter((one) =>
      agentFiles.length === 0 ? isOfAgents(one) || directories.includes(one.file) : isMeant(one),
    );
    const agents = Object.keys(catalog.agents).sort();
    if (call.json) writeJson(call, { agents, problems });
    else tellProblems(call, problems, agentFiles.length || agents.length);
    return problems.length === 0 ? exitCodes.done : exitCodes.failed;
  },
};

const counted = (count: number, noun: string): string =>
  count === 1 ? `1 ${noun}` : `${count} ${noun}s`;

function tellProblems(call: Call, problems: readonly CatalogProblem[], files: number): void {
  const { bold, green, red } = call.terminal.colors;
  for (const { file, line, column, reason, fix } of problems)
    call.terminal.out(`${bold(`${file}:${line}:${column}`)} ${reason}\n    ${fix}\n`);
  const end =
    problems.length === 0
      ? green(`${counted(files, 'agent')} checked: no problems.`)
      : red(`${counted(problems.length, 'problem')}.`);
  call.terminal.out(`${end}\n`);
}

const limitsOf = (agent: AgentDefinition): string =>
  agent.kind === 'procedure'
    ? counted(agent.steps.length, 'step')
    : `${agent.stepsMax} steps, ${agent.outputTokensMax} tokens each`;

/** Sorted by name, with the hash that a session names them by. */
export const agentsList: CommandSpec = {
  name: 'list',
  about: 'the agents of the catalog',
  examples: ['longrein agents list', 'longrein agents list --json'],
  async run(call) {
    const { catalog, problems } = await load(call);
    const agents = Object.values(catalog.agents).sort((a, b) => (a.name < b.name ? -1 : 1));
    if (call.json) {
      writeJson(call, { agents: agents.map((agent) => ({ ...agent, digest: hashOf(agent) })) });
      return exitCodes.done;
    }
    call.terminal.out(tellAgents(call, agents));
    const broken = problems.filter(isOfAgents).length;
    if (broken > 0) {
      const one = counted(broken, 'problem');
      call.terminal.err(`${one} in agent files; see them: longrein agents check\n`);
    }
    return exitCodes.done;
  },
};

function tellAgents(call: Call, agents: readonly AgentDefinition[]): string {
  if (agents.length === 0) return 'There are no agents. Put a file into the folder "agents".\n';
  const titles = ['NAME', 'VERSION', 'KIND', 'MODEL', 'ROLE', 'TOOLS', 'LIMITS', 'HASH'];
  const rows = agents.map((agent) => [
    ...[agent.name, agent.version, agent.kind],
    ...[agent.kind === 'model' ? agent.model : '', agent.role],
    ...[agent.tools.join(' ') || 'none', limitsOf(agent), hashOf(agent).slice(0, 12)],
  ]);
  const { bold } = call.terminal.colors;
  const columns = titles.map((title) => ({ title }));
  return table({ columns, rows, widthMax: call.terminal.columns, paintTitle: bold });
}

function find(agents: Readonly<Record<string, AgentDefinition>>, name: string): AgentDefinition {
  if (Object.hasOwn(agents, name)) return agents[name] as AgentDefinition;
  const names = Object.keys(agents).sort();
  const near = nearest(name, names);
  const advice = near === undefined ? '' : `Did you mean ${near}? `;
  throw new UsageError(`there is no agent "${name}"`, `${advice}Known: ${names.join(', ')}.`);
}

/** With every default filled in, as a session pins it. */
export const agentsShow: CommandSpec = {
  name: 'show <agent>',
  about: 'one agent as a session would pin it, with every default',
  examples: ['longrein agents show summary-writer', 'longrein agents show summary-writer --json'],
  async run(call) {
    const { catalog } = await load(call);
    const agent = find(catalog.agents, call.args[0] ?? '');
    const digest = hashOf(agent);
    if (call.json) {
      writeJson(call, { ...agent, digest });
      return exitCodes.done;
    }
    const { stringify } = await import('yaml');
    const { form: _form, ...shown } = agent;
    const { bold, dim } = call.terminal.colors;
    const head = `${bold(`${agent.name} ${agent.version}`)} ${dim(digest)}\n${agent.description}\n`;
    call.terminal.out(`${head}\n${stringify(shown, { lineWidth: 100 })}`);
    return exitCodes.done;
  },
};
