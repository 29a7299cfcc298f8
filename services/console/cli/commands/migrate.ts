import { type CommandSpec, flagOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';

/** Brings the schema of ClickHouse to this release, or shows what is missing. */
export const migrate: CommandSpec = {
  name: 'migrate',
  about: 'bring the schema of ClickHouse to this release (the event store does it too)',
  options: [{ flags: '--dry-run', about: 'only say what is missing; exit 1 if something is' }],
  examples: ['longrein migrate', 'longrein migrate --dry-run'],
  async run(call) {
    const { withClickhouse } = await import('../clickhouse-owner.ts');
    const { missingMigrations, migrate: apply } = await import(
      '../../../event-store/migrations.ts'
    );
    if (flagOption(call, 'dryRun')) {
      const missing = await withClickhouse(call.environment, (client) => missingMigrations(client));
      if (call.json) writeJson(call, { missing });
      else if (missing.length === 0) call.terminal.out('Nothing is missing.\n');
      else call.terminal.out(missing.map((name) => `missing  ${name}\n`).join(''));
      return missing.length === 0 ? exitCodes.done : exitCodes.failed;
    }
    const logger = {
      info: (fields: object): void => {
        const { migration } = fields as { migration: string };
        if (!call.json) call.terminal.out(`applied  ${migration}\n`);
      },
    };
    const replicated = call.environment['LONGREIN_CLICKHOUSE_REPLICATED'] === '1';
    const report = await withClickhouse(call.environment, (client) =>
      apply(client, logger, undefined, { replicated }),
    );
    if (call.json) writeJson(call, report);
    else call.terminal.out(`The schema has version ${report.version}.\n`);
    return exitCodes.done;
  },
};
