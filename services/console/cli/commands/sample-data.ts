import { type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { parseMoment } from '../time-span.ts';

/** A month of a company that is not real, for looking at queries and dashboards. */
export const sampleData: CommandSpec = {
  name: 'sample-data',
  about: 'put a month of made-up sessions into ClickHouse, under tenants named sample-…',
  options: [
    { flags: '--until <day>', about: 'its last day, such as 2026-03-31 (default yesterday)' },
    { flags: '--remove', about: 'take all sample data out again' },
  ],
  examples: ['longrein sample-data', 'longrein cost --by agent', 'longrein sample-data --remove'],
  async run(call) {
    const { withClickhouse } = await import('../clickhouse-owner.ts');
    const { loadSample, removeSample } = await import('../../../event-store/sample/load.ts');
    if (flagOption(call, 'remove')) {
      const rows = await withClickhouse(call.environment, removeSample);
      if (call.json) writeJson(call, { removed: rows });
      else call.terminal.out(`${rows} rows of sample data are gone.\n`);
      return exitCodes.done;
    }
    const untilMs = untilOf(textOption(call, 'until'));
    if (!call.json) call.terminal.err('making and writing about 30,000 events …\n');
    const loaded = await withClickhouse(call.environment, (client) => loadSample(client, untilMs));
    if (call.json) writeJson(call, loaded);
    else
      call.terminal.out(
        `${loaded.sessions} sessions, ${loaded.rows} events of the 30 days before ` +
          `${new Date(untilMs).toISOString().slice(0, 10)}.\nLook at them: longrein cost --by agent\n`,
      );
    return exitCodes.done;
  },
};

const dayMs = 86_400_000;

/** Midnight after the last day. */
function untilOf(day: string | undefined): number {
  const nowMs = Date.now();
  if (day === undefined) return Math.floor(nowMs / dayMs) * dayMs;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) {
    throw new UsageError(`"${day}" is no day`, 'Write it as 2026-03-31.');
  }
  return parseMoment(day, nowMs) + dayMs;
}
