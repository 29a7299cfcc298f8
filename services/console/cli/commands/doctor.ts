import { stripVTControlCharacters } from 'node:util';
import { localSettings } from '../config.ts';
import { type CommandSpec, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';

/** Says for each thing that the stack needs what is wrong and what to do. */
export const doctor: CommandSpec = {
  name: 'doctor',
  about: 'look at everything that the local stack needs; changes nothing',
  examples: ['longrein doctor'],
  async run(call) {
    const { doctor: examine } = await import('../../../../deploy/local/doctor.ts');
    const checks = await examine({ settings: localSettings(call.environment) });
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
