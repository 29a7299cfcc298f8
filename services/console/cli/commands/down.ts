import { rm } from 'node:fs/promises';
import { readStack } from '../../../../deploy/local/stack-file.ts';
import { localSettings } from '../config.ts';
import { type CommandSpec, flagOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { count } from '../figures.ts';
import { memoryPath } from '../host-memory.ts';
import { withSteps } from '../steps.ts';

/** Stops exactly what `up` started. */
export const down: CommandSpec = {
  name: 'down',
  about: 'stop what `up` started; the data stays',
  options: [{ flags: '--wipe', about: 'remove the data too: log, ClickHouse, blobs' }],
  examples: ['longrein down', 'longrein down --wipe'],
  async run(call) {
    const { down: stopStack } = await import('../../../../deploy/local/stack.ts');
    const settings = localSettings(call.environment);
    const wipe = flagOption(call, 'wipe');
    const stack = await readStack(settings.stateDir);
    const names = (stack?.processes ?? []).map((record) => record.name).reverse();
    const result = await withSteps(call.terminal, names, (report) =>
      stopStack({ settings, wipe }, report),
    );
    await rm(memoryPath(settings.stateDir), { force: true });
    if (call.json) {
      writeJson(call, { ...result, stateDir: settings.stateDir });
      return exitCodes.done;
    }
    const { stopped, wiped } = result;
    const what =
      stopped.length === 0
        ? 'Nothing ran.'
        : `Stopped ${count(stopped.length, 'process', 'processes')}.`;
    const data = wiped
      ? `Removed ${settings.stateDir}.`
      : `The data stays in ${settings.stateDir}.`;
    call.terminal.out(`${what} ${data}\n`);
    return exitCodes.done;
  },
};
