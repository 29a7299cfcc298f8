import { withoutCredentials } from '../../../../deploy/local/probes.ts';
import type { BringUpOptions, StackUp } from '../bring-up.ts';
import { type Call, type CommandSpec, type Context, flagOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { withSteps } from '../steps.ts';

/** Starts the local stack; harmless if it runs already. */
export const up: CommandSpec = {
  name: 'up',
  about: 'start the local stack: broker, schema registry, ClickHouse and the services',
  options: [
    { flags: '--separate', about: 'one process for each service, instead of one for all' },
    { flags: '--no-clickhouse', about: 'without ClickHouse: no SQL, no session list' },
  ],
  examples: ['longrein up', 'longrein up --separate'],
  async run(call) {
    const { bringUp, upSteps } = await import('../bring-up.ts');
    const clickhouse = call.options['clickhouse'] !== false;
    const stack = await withSteps(call.terminal, upSteps(clickhouse), (report) =>
      bringUp({ ...asked(call), clickhouse, report }),
    );
    if (call.json) writeJson(call, shown(stack));
    else call.terminal.out(summary(call, stack));
    return exitCodes.done;
  },
};

function asked(call: Call): Pick<BringUpOptions, 'environment' | 'shape'> {
  const { environment } = call;
  return flagOption(call, 'separate') ? { environment, shape: 'separate' } : { environment };
}

/** The password stays in stack.json. */
const shown = (stack: StackUp): StackUp => ({
  ...stack,
  clickhouseUrl: stack.clickhouseUrl && withoutCredentials(stack.clickhouseUrl),
});

function summary(context: Context, stack: StackUp): string {
  const { bold } = context.terminal.colors;
  const lines = [
    ['brokers', stack.brokers.join(', ')],
    ['registry', stack.registryUrl ?? 'none'],
    ['clickhouse', shown(stack).clickhouseUrl ?? 'none'],
    ['state', stack.stateDir],
  ];
  return `\n${lines.map(([name = '', value]) => `${bold(name.padEnd(12))}${value}\n`).join('')}`;
}
