import { join, resolve } from 'node:path';
import type { PlanDefinition } from '../../../../schemas/definitions/plan.ts';
import { type CatalogProblem, compareProblems } from '../../../chassis/catalog/problem.ts';
import { packageRoot } from '../../../chassis/config/package-root.ts';
import { type Call, type CommandSpec, listOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { count } from '../figures.ts';

/** Checks plan files against the catalog, before a host reads them. */
export const planCheck: CommandSpec = {
  name: 'check <file...>',
  about: 'check plan files against the catalog: every mistake with its place (exit 1 if any)',
  options: [
    { flags: '--catalog <dirs...>', about: 'catalog directories; as LONGREIN_CATALOG, else ours' },
  ],
  examples: ['longrein plan check deploy/examples/plans/research-team.yaml'],
  async run(call) {
    const [{ checkPlanFile }, { loadCatalog }] = await Promise.all([
      import('../../../chassis/catalog/plan-file.ts'),
      import('../../../chassis/catalog/load.ts'),
    ]);
    const { catalog } = loadCatalog(catalogOf(call));
    const checked = call.args.map((file) => ({
      file,
      ...checkPlanFile(resolve(call.workingDir, file), catalog.names),
    }));
    for (const one of checked) tell(call, one);
    const isRight = checked.every(({ problems }) => problems.length === 0);
    return isRight ? exitCodes.done : exitCodes.failed;
  },
};

type Checked = Readonly<{
  file: string;
  plan?: PlanDefinition | undefined;
  problems: readonly CatalogProblem[];
}>;

/** With `--json` one document a file. */
function tell(call: Call, { file, plan, problems }: Checked): void {
  if (call.json) {
    writeJson(call, { file, plan: plan?.name ?? null, problems });
    return;
  }
  const { green, red, bold, dim } = call.terminal.colors;
  for (const { line, column, reason, fix } of [...problems].sort(compareProblems))
    call.terminal.out(`${bold(`${file}:${line}:${column}`)}  ${reason}\n${dim('fix')}  ${fix}\n`);
  if (problems.length > 0) {
    call.terminal.out(`${red(count(problems.length, 'problem'))}\n`);
    return;
  }
  const tasks = plan?.planning === undefined ? plan?.tasks.length : undefined;
  const made = tasks === undefined ? 'tasks from a model' : count(tasks, 'task');
  call.terminal.out(`${green('ok')}  ${plan?.name} ${plan?.version}, ${made}\n`);
}

function catalogOf(call: Call): readonly string[] {
  const given = listOption(call, 'catalog');
  if (given.length > 0) return given.map((one) => resolve(call.workingDir, one));
  const named = call.environment['LONGREIN_CATALOG']?.split(',').filter((one) => one.trim() !== '');
  if (named === undefined || named.length === 0) return [join(packageRoot, 'deploy/examples')];
  return named.map((one) => resolve(call.workingDir, one.trim()));
}
