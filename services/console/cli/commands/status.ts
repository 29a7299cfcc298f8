import type { StackStatus } from '../../../../deploy/local/stack.ts';
import { localSettings } from '../config.ts';
import { type CommandSpec, type Context, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { table } from '../table.ts';

/** Looks at every address and process of the stack. */
export const status: CommandSpec = {
  name: 'status',
  about: 'show what runs; exit 1 if something does not',
  examples: ['longrein status', 'longrein status --json'],
  async run(call) {
    const { status: look } = await import('../../../../deploy/local/stack.ts');
    const seen = await look({ settings: localSettings(call.environment) });
    const well = isWell(seen);
    if (call.json) writeJson(call, { well, ...seen });
    else call.terminal.out(tell(call, seen));
    return well ? exitCodes.done : exitCodes.failed;
  },
};

/** Whether a broker is known, and all that is known runs. */
export function isWell(seen: StackStatus): boolean {
  const services = [seen.brokers, seen.registry, seen.clickhouse];
  const answers = services.every((one) => one === undefined || one.ok);
  return seen.brokers !== undefined && answers && seen.processes.every((one) => one.alive);
}

function tell(context: Context, seen: StackStatus): string {
  const { green, red, bold, dim } = context.terminal.colors;
  if (seen.brokers === undefined) {
    return `Nothing runs (${seen.stateDir}). Start it with: longrein up\n`;
  }
  const paint = (cell: string, value: string): string => (value === 'ok' ? green(cell) : red(cell));
  const rows = [...addressRows(seen), ...processRows(seen)];
  const text = table({
    columns: [
      { title: 'WHAT' },
      { title: 'STATE', paint },
      { title: 'PID', right: true },
      { title: 'WHERE' },
    ],
    rows,
    widthMax: context.terminal.columns,
    paintTitle: bold,
  });
  const fix = isWell(seen) ? '' : 'Start what is missing with: longrein up\n';
  return `${text}${dim(`state in ${seen.stateDir}`)}\n${fix}`;
}

const backing = ['broker', 'registry', 'clickhouse'];

function addressRows(seen: StackStatus): string[][] {
  const services = [seen.brokers, seen.registry, seen.clickhouse];
  return services.flatMap((service, index) => {
    if (service === undefined) return [];
    const name = backing[index] ?? '';
    const record = seen.processes.find((process) => process.name === name);
    const address = service.ok ? service.address : service.reason;
    const where = record?.container ? `${address} (container ${record.container.name})` : address;
    return [[name, service.ok ? 'ok' : 'away', record ? String(record.pid) : '', where]];
  });
}

function processRows(seen: StackStatus): string[][] {
  return seen.processes
    .filter((record) => !backing.includes(record.name))
    .map(({ name, alive, pid, logFile }) => [name, alive ? 'ok' : 'ended', String(pid), logFile]);
}
