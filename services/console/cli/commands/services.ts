import type { Deed } from '../../../chassis/host/watermark-records.ts';
import { type Call, type CommandSpec, writeJson } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-code.ts';
import type { ServiceRow } from '../service-acts.ts';
import { table } from '../table.ts';
import { deedOf, reasonOptions } from '../who.ts';

/** Who holds the log, and how far back. */
export const servicesList: CommandSpec = {
  name: 'list',
  about: 'services whose watermarks hold what may be deleted, retired ones too',
  examples: ['longrein services list', 'longrein services list --json'],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const { sessionLogs, withWatermarks } = await import('../log-state.ts');
    const { serviceRows } = await import('../service-acts.ts');
    const rows = await withLog(call.environment, (log) =>
      withWatermarks(log, async (watermarks) =>
        serviceRows(watermarks, await boundsOfAll(log, await sessionLogs(log))),
      ),
    );
    if (call.json) writeJson(call, { services: rows });
    else call.terminal.out(tell(call, rows));
    return exitCodes.done;
  },
};

type Log = Parameters<typeof import('../../../client/publish.ts').boundsOf>[0];
type AllBounds = Map<string, Awaited<ReturnType<Log['bounds']>>>;

async function boundsOfAll(log: Log, topics: readonly string[]): Promise<AllBounds> {
  const found = topics.map(async (topic) => [topic, await log.bounds(topic)] as const);
  return new Map(await Promise.all(found));
}

function tell(call: Call, rows: readonly ServiceRow[]): string {
  const columns = [
    { title: 'SERVICE' },
    { title: 'STATE' },
    { title: 'BEHIND', right: true },
    { title: 'WHERE' },
  ];
  const text = rows.map((row) => [
    row.service,
    stateOf(row),
    String(row.behindMax),
    row.where ?? '',
  ]);
  const { bold } = call.terminal.colors;
  return table({ columns, rows: text, widthMax: call.terminal.columns, paintTitle: bold });
}

const stateOf = ({ retired, release }: ServiceRow): string =>
  retired === undefined ? `listed (${release})` : `retired by ${retired.by}: ${retired.reason}`;

/** A service that is never to run again holds nothing any more. */
export const servicesRetire: CommandSpec = {
  name: 'retire <service>',
  about: 'take a service off the list for good: it holds nothing any more, and cannot start',
  options: reasonOptions,
  examples: ['longrein services retire worker-pool:old --reason "the pool was split"'],
  async run(call) {
    const { retire } = await import('../service-acts.ts');
    const { aliveHosts, sessionLogs } = await import('../log-state.ts');
    return await act(call, 'retired', async (watermarks, { log, service, deed }) => {
      const bounds = await boundsOfAll(log, await sessionLogs(log));
      const alive = await aliveHosts(log, deed.atMs);
      const running = alive.filter(({ services }) => services.includes(service));
      return retire(watermarks, service, {
        deed,
        bounds,
        runningOn: running.map(({ host }) => host),
      });
    });
  },
};

/** It was retired by mistake, or comes back. */
export const servicesReinstate: CommandSpec = {
  name: 'reinstate <service>',
  about: 'let a retired service start again, from what is left of the log',
  options: reasonOptions,
  examples: ['longrein services reinstate event-store --reason "ClickHouse is back"'],
  async run(call) {
    const { reinstate } = await import('../service-acts.ts');
    return await act(call, 'may start again', async (watermarks, { service, deed }) =>
      reinstate(watermarks, service, deed),
    );
  },
};

type Watermarks = import('../../../chassis/host/watermarks.ts').Watermarks;
type Entry = import('../../../chassis/host/watermarks.ts').Entry;

async function act(
  call: Call,
  done: string,
  entriesOf: (
    watermarks: Watermarks,
    at: { log: Log; service: string; deed: Deed },
  ) => Promise<Entry[]>,
): Promise<ExitCode> {
  const { withLog } = await import('../log-client.ts');
  const { withWatermarks, writeEntries } = await import('../log-state.ts');
  const deed = deedOf(call);
  const [service = ''] = call.args;
  await withLog(call.environment, async (log) => {
    const entries = await withWatermarks(log, (watermarks) =>
      entriesOf(watermarks, { log, service, deed }),
    );
    await writeEntries(log, entries);
  });
  if (call.json) writeJson(call, { service, state: done, ...deed });
  else call.terminal.out(`${service} ${done} (by ${deed.by}: ${deed.reason}).\n`);
  return exitCodes.done;
}
