import { stripVTControlCharacters } from 'node:util';
import type { Check } from '../../../../deploy/local/doctor.ts';
import { localSettings } from '../config.ts';
import { type Call, type CommandSpec, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { readTroubles, troubleText } from '../troubles.ts';

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
    const well = checks.every((check) => check.ok);
    if (call.json) {
      writeJson(call, { well, checks });
      return well ? exitCodes.done : exitCodes.failed;
    }
    const { green, red, bold } = call.terminal.colors;
    const width = Math.max(...checks.map((check) => check.name.length)) + 2;
    for (const { name, ok, detail, fix } of checks) {
      const mark = ok ? green('ok  ') : red('BAD ');
      call.terminal.out(`${mark} ${name.padEnd(width)}${stripVTControlCharacters(detail)}\n`);
      if (fix !== undefined) call.terminal.out(`${' '.repeat(5 + width)}${bold('fix')}  ${fix}\n`);
    }
    return well ? exitCodes.done : exitCodes.failed;
  },
};

/** The providers that are set up, and whether they have the models that the catalog names. */
async function modelChecks(call: Call): Promise<Check[]> {
  const { checkModels } = await import('../../../model-gateway/check.ts');
  const { modelsNamed } = await import('../model-names.ts');
  return checkModels(call.environment, modelsNamed(call.environment));
}

/** What stands still in the log, where the broker can be reached. */
async function logChecks(call: Call, local: readonly Check[]): Promise<Check[]> {
  if (local.find(({ name }) => name === 'broker')?.ok !== true) return [];
  const troubles = await readTroubles(call.environment, Date.now());
  if (troubles.length === 0) return [{ name: 'log', ok: true, detail: 'nothing stands still' }];
  return troubles.map((trouble) => {
    const { where, fix, stops } = trouble;
    return { name: where, ok: !stops, detail: troubleText(trouble), fix };
  });
}
