import type { StackStatus } from '../../../../deploy/local/stack.ts';
import { localSettings } from '../config.ts';
import { type CommandSpec, type Context, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { type HostHealth, readHealth } from '../host-health.ts';
import type { Trouble } from '../log-state.ts';
import { table } from '../table.ts';
import { readTroubles, troubleText } from '../troubles.ts';

/** Looks at every address and process of the stack. */
export const status: CommandSpec = {
  name: 'status',
  about: 'show what runs and what stands still; exit 1 if something does not',
  examples: ['longrein status', 'longrein status --json'],
  async run(call) {
    const { status: look } = await import('../../../../deploy/local/stack.ts');
    const seen = await look({ settings: localSettings(call.environment) });
    const reachable = seen.brokers?.ok === true;
    const troubles = reachable ? await readTroubles(call.environment, Date.now()) : [];
    const health = await readHealth(seen.stateDir, seen.processes);
    const isReady = [...health.values()].every(({ ready }) => ready);
    const well = isWell(seen) && isReady && !troubles.some(({ stops }) => stops);
    if (call.json) writeJson(call, { well, ...withHealth(seen, health), troubles });
    else {
      const hosts = tellHealth(call, health);
      call.terminal.out(`${tell(call, seen, health)}${hosts}${tellTroubles(call, troubles)}`);
    }
    return well ? exitCodes.done : exitCodes.failed;
  },
};

/** Whether a broker is known, and all that is known runs. */
export function isWell(seen: StackStatus): boolean {
  const services = [seen.brokers, seen.registry, seen.clickhouse];
  const answers = services.every((one) => one === undefined || one.ok);
  return seen.brokers !== undefined && answers && seen.processes.every((one) => one.alive);
}

type HealthByName = ReadonlyMap<string, HostHealth>;

/** Each process with what it says of itself. */
const withHealth = (seen: StackStatus, health: HealthByName) => ({
  ...seen,
  processes: seen.processes.map((one) => ({ ...one, health: health.get(one.name) })),
});

function tell(context: Context, seen: StackStatus, health: HealthByName): string {
  const { green, red, bold, dim } = context.terminal.colors;
  if (seen.brokers === undefined) {
    return `Nothing runs (${seen.stateDir}). Start it with: longrein up\n`;
  }
  const paint = (cell: string, value: string): string => (value === 'ok' ? green(cell) : red(cell));
  const rows = [...addressRows(seen), ...processRows(seen, health)];
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

/** What hosts wait for, and what they say besides. */
function tellHealth({ terminal }: Context, health: HealthByName): string {
  const { yellow, dim } = terminal.colors;
  const lines = [...health].flatMap(([name, { reasons, notes }]) => [
    ...reasons.map((reason) => `${yellow('waits  ')}  ${name}: ${reason}\n`),
    ...notes.map((note) => dim(`note     ${name}: ${note}\n`)),
  ]);
  return lines.length === 0 ? '' : `\n${lines.join('')}`;
}

/** Partitions that stand still, each with the command that mends it. */
function tellTroubles({ terminal }: Context, troubles: readonly Trouble[]): string {
  const { red, yellow, bold } = terminal.colors;
  const lines = troubles.map((trouble) => {
    const mark = trouble.stops ? red('stopped') : yellow('slow   ');
    return `${mark}  ${trouble.where}: ${troubleText(trouble)}\n${bold('    fix')}  ${trouble.fix}\n`;
  });
  return lines.length === 0 ? '' : `\n${lines.join('')}`;
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

function processRows(seen: StackStatus, health: HealthByName): string[][] {
  const stateOf = (name: string, alive: boolean): string => {
    if (!alive) return 'ended';
    return health.get(name)?.ready === false ? 'waits' : 'ok';
  };
  return seen.processes
    .filter((record) => !backing.includes(record.name))
    .map(({ name, alive, pid, logFile }) => [name, stateOf(name, alive), String(pid), logFile]);
}
