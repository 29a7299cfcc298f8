import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import type { ExportPlace } from '../../../event-store/parquet/place.ts';
import type { GroupSpec } from '../context.ts';
import { type Call, type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { bytes, count } from '../figures.ts';
import { parseMoment } from '../time-span.ts';

/** A directory here, or a place in a bucket. Throws BUCKET_NAME_INVALID, BUCKET_CREDENTIALS_MISSING. */
async function placeOf(call: Call, name: string): Promise<ExportPlace> {
  const { exportPlace } = await import('../export-place.ts');
  return exportPlace(name, call);
}

const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const exportSpec: CommandSpec = {
  name: 'export',
  about: 'write events as Parquet, by tenant and day, with a table definition for Athena',
  options: [
    {
      flags: '--to <place>',
      about:
        'a directory, or s3://BUCKET/PATH (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL)',
    },
    { flags: '--tenant <id>', about: 'of one tenant only' },
    { flags: '--since <time>', about: 'from this day on (default: all)' },
    { flags: '--until <time>', about: 'up to this day, without it (default: today, without it)' },
  ],
  examples: [
    'longrein events export --to ./export',
    'longrein events export --to s3://bucket/longrein --tenant acme',
  ],
  async run(call) {
    const to = textOption(call, 'to');
    if (to === undefined)
      throw new UsageError('where to?', 'Add --to DIRECTORY or --to s3://BUCKET/PATH.');
    const { exportEvents } = await import('../../../event-store/parquet/export.ts');
    const nowMs = Date.now();
    const wish = {
      to: await placeOf(call, to),
      tenantId: textOption(call, 'tenant'),
      fromDay: dayText(parseMoment(textOption(call, 'since') ?? '1970-01-01', nowMs)),
      toDay: dayText(parseMoment(textOption(call, 'until') ?? dayText(nowMs), nowMs)),
      report: (file: { path: string; rows: number; bytes: number }) => {
        if (!call.json)
          call.terminal.err(`${file.path}  ${count(file.rows, 'row')}, ${bytes(file.bytes)}\n`);
      },
    };
    const { files } = await owned(call, (client) => exportEvents(client, wish));
    const rows = files.reduce((sum, file) => sum + file.rows, 0);
    if (call.json) writeJson(call, { to: wish.to.name, files, rows });
    else
      call.terminal.out(
        `${count(rows, 'row')} in ${count(files.length, 'file')}: ${wish.to.name}\n`,
      );
    return exitCodes.done;
  },
};

const importSpec: CommandSpec = {
  name: 'import <place>',
  about:
    'write an export back, from a directory or s3://BUCKET/PATH; what is there already is left alone',
  examples: ['longrein events import ./export', 'longrein events import s3://bucket/longrein'],
  async run(call) {
    const { importEvents } = await import('../../../event-store/parquet/import.ts');
    const { migrate } = await import('../../../event-store/migrations.ts');
    const from = await placeOf(call, call.args[0] ?? '');
    const done = await owned(call, async (client) => {
      await migrate(client, { info: () => undefined });
      return importEvents(client, from, (file, state) => {
        if (!call.json) call.terminal.err(`${state.padEnd(8)}${file.path}\n`);
      });
    });
    if (call.json) writeJson(call, done);
    else
      call.terminal.out(
        `${count(done.rows, 'row')} written; ${count(done.there, 'file')} of ${done.there + done.written} there already.\n`,
      );
    return exitCodes.done;
  },
};

const backfillSpec: CommandSpec = {
  name: 'backfill',
  about: 'write the rows that ClickHouse lacks, from the log; the event store may go on meanwhile',
  examples: ['longrein events backfill'],
  async run(call) {
    const { runBackfill } = await import('../backfill.ts');
    const done = await owned(call, (client) =>
      runBackfill(call.environment, client, (one) => {
        if (!call.json && one.records > 0)
          call.terminal.err(`${one.topic}/${one.partition}  ${count(one.records, 'record')}\n`);
      }),
    );
    const sum = (name: 'records' | 'rows' | 'cut'): number =>
      done.reduce((total, one) => total + one[name], 0);
    if (call.json)
      writeJson(call, { partitions: done, records: sum('records'), rows: sum('rows') });
    else
      call.terminal.out(
        `${count(sum('records'), 'record')}, ${count(sum('rows'), 'row')} written.\n`,
      );
    if (sum('cut') > 0)
      call.terminal.err(
        `${count(sum('cut'), 'record')} of sessions that began before the log does are left out: import an export.\n`,
      );
    return exitCodes.done;
  },
};

const retentionSpec: CommandSpec = {
  name: 'retention <file>',
  about: 'how long rows are kept, by class and tenant: print the statements, or apply them',
  options: [{ flags: '--apply', about: 'change the tables' }],
  examples: [
    'longrein events retention deploy/clickhouse/retention.yaml',
    'longrein events retention rules.yaml --apply',
  ],
  async run(call) {
    const { parse } = await import('yaml');
    const { applyRetention, parseRetention, retentionStatements } = await import(
      '../../../event-store/retention.ts'
    );
    const path = resolve(call.workingDir, call.args[0] ?? '');
    const statements = retentionStatements(parseRetention(parse(fileText(path))));
    const applied = flagOption(call, 'apply');
    if (applied) await owned(call, (client) => applyRetention(client, statements));
    if (call.json) writeJson(call, { applied, statements });
    else call.terminal.out(statements.map((one) => `${one};\n`).join(''));
    return exitCodes.done;
  },
};

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`${path} cannot be read`, 'Name a YAML file with rules.');
  }
}

async function owned<T>(call: Call, work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
  const { withClickhouse } = await import('../clickhouse-owner.ts');
  return await withClickhouse(call.environment, work);
}

export const events: GroupSpec = {
  name: 'events',
  about: 'keep, move and rebuild what ClickHouse holds',
  commands: [exportSpec, importSpec, backfillSpec, retentionSpec],
};
