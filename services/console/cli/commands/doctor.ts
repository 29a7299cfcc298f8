import { stripVTControlCharacters } from 'node:util';
import type { Check } from '../../../../deploy/local/doctor.ts';
import { localSettings } from '../config.ts';
import { type Call, type CommandSpec, writeJson } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-code.ts';
import { checksOf, readTroubles } from '../troubles.ts';

/** Says for each thing that the stack needs what is wrong and what to do. */
export const doctor: CommandSpec = {
  name: 'doctor',
  about: 'look at everything that the stack needs and at what stands still; changes nothing',
  examples: ['longrein doctor'],
  async run(call) {
    const { doctor: examine } = await import('../../../../deploy/local/doctor.ts');
    const local = await examine({ settings: localSettings(call.environment) });
    const models = await modelChecks(call);
    const checks = [...local, ...models, ...(await logChecks(call, local))];
    if (call.json) {
      writeJson(call, { well: checks.every(({ ok }) => ok), checks });
      return exitCodeOf(checks);
    }
    const { green, red, bold } = call.terminal.colors;
    const width = Math.max(...checks.map((check) => check.name.length)) + 2;
    for (const { name, ok, detail, fix } of checks) {
      const mark = ok ? green('ok  ') : red('BAD ');
      call.terminal.out(`${mark} ${name.padEnd(width)}${stripVTControlCharacters(detail)}\n`);
      if (fix !== undefined) call.terminal.out(`${' '.repeat(5 + width)}${bold('fix')}  ${fix}\n`);
    }
    return exitCodeOf(checks);
  },
};

/** Of a program that only looks: whether all is well. */
export const exitCodeOf = (checks: readonly Check[]): ExitCode =>
  checks.every(({ ok }) => ok) ? exitCodes.done : exitCodes.failed;

/** The providers that are set up, and whether they have the models that the catalog names. */
async function modelChecks(call: Call): Promise<Check[]> {
  const { checkModels } = await import('../../../model-gateway/check.ts');
  const { modelsNamed } = await import('../model-names.ts');
  return checkModels(call.environment, modelsNamed(call.environment));
}

/** What stands still in the log, where the broker can be reached. */
async function logChecks(call: Call, local: readonly Check[]): Promise<Check[]> {
  if (local.find(({ name }) => name === 'broker')?.ok !== true) return [];
  return checksOf(await readTroubles(call.environment, Date.now()));
}
