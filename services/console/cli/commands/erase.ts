import { join, resolve } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { blobDirOf, contentKeysOf, localSettings, readClickhouseAddress } from '../config.ts';
import {
  type Call,
  type CommandSpec,
  flagOption,
  listOption,
  type OptionSpec,
  textOption,
  writeJson,
} from '../context.ts';
import type { ErasedSession } from '../erase/erase.ts';
import type { Found } from '../erase/find.ts';
import type { FoundSession, Wanted } from '../erase/survey.ts';
import { type ExitCode, exitCodes, UsageError } from '../exit-code.ts';
import { count } from '../figures.ts';
import { deedOf, reasonOptions } from '../who.ts';

const options: readonly OptionSpec[] = [
  { flags: '--session <id>', about: 'one session, that has ended' },
  { flags: '--tenant <id>', about: 'every session of a tenant that has ended' },
  {
    flags: '--exports <place...>',
    about:
      'where exports of sessions and of rows lie, besides imports: directories, s3://BUCKET/PATH for rows',
  },
  { flags: '--forks', about: 'with a session: also the forks that share its past' },
  { flags: '--dry-run', about: 'say what would be erased, and change nothing' },
  ...reasonOptions,
];

/** Drops what was written in sessions, for ever; keeps that they were, what they cost, and every hash. */
export const erase: CommandSpec = {
  name: 'erase',
  about: 'erase for ever what was written in a session or by a tenant; accounts and hashes stay',
  options,
  examples: [
    'longrein erase --session ses_0f3a9c… --reason "request 4711 of the data subject"',
    'longrein erase --tenant acme --reason "contract ended" --exports ./exports',
  ],
  async run(call) {
    const wanted = await wantedOf(call);
    if (flagOption(call, 'dryRun')) return await rehearse(call, wanted);
    const deed = deedOf(call);
    const { withLog } = await import('../log-client.ts');
    return await withLog(call.environment, async (log) => {
      const found = await find(call, wanted);
      const { ended, running } = found;
      const { strange, ...stores } = await storesOf(call);
      const parts = { log, deed, ...stores };
      const { eraseSessions } = await import('../erase/erase.ts');
      let unreached = strange;
      const done = await withStore(call, (clickhouse) => {
        if (clickhouse === undefined)
          unreached = [...strange, ...stores.exports.map(({ name }) => name)];
        return eraseSessions({ ...parts, clickhouse }, ended, (one) => progress(call, one));
      });
      tell(call, done, { running, unreached });
      return running.length === 0 ? exitCodes.done : exitCodes.failed;
    });
  },
};

async function wantedOf(call: Call): Promise<Wanted> {
  const [id, tenant] = [textOption(call, 'session'), textOption(call, 'tenant')];
  if ((id === undefined) === (tenant === undefined))
    throw new UsageError(
      'what is to be erased?',
      'Give --session ID, or --tenant ID, one of them.',
    );
  if (tenant !== undefined) return { tenant };
  const { sessionOf } = await import('../session-source.ts');
  const { keyOwnerOf } = await import('../../../chassis/content/content-keys.ts');
  return { session: keyOwnerOf(await sessionOf(call.environment, id ?? '')) };
}

async function storesOf(call: Call) {
  const { removableBlobs } = await import('../../../chassis/content/blobs.ts');
  const { copiesIn } = await import('../erase/files.ts');
  const { keptOf } = await import('../kept-contexts.ts');
  const blobDir = blobDirOf(call.environment);
  const imports = join(localSettings(call.environment).stateDir, 'imports');
  const { directories, buckets } = await placesOf(call);
  // First this: it says which place cannot be read.
  const copies = await copiesIn(imports, directories);
  const { exportsInBuckets, exportsOfRows } = await import('../erase/warehouse.ts');
  const here = await exportsOfRows(directories);
  const there = await exportsInBuckets(buckets);
  return {
    keys: contentKeysOf(call.environment),
    blobs: removableBlobs(blobDir),
    copies,
    exports: [...here.exports, ...there.exports],
    strange: [...here.strange, ...there.strange],
    keptOf: (session: string) => keptOf(blobDir, session),
  };
}

/** What --exports names. Throws as `bucketAddress`. */
async function placesOf(call: Call) {
  const { bucketAddress, isBucket } = await import('../../../event-store/bucket/address.ts');
  const names = listOption(call, 'exports');
  return {
    directories: names.filter((one) => !isBucket(one)).map((one) => resolve(call.workingDir, one)),
    buckets: names.filter(isBucket).map((one) => bucketAddress(one, call.environment)),
  };
}

async function withStore<T>(
  call: Call,
  work: (client: ClickHouseClient | undefined) => Promise<T>,
): Promise<T> {
  if ((await readClickhouseAddress(call.environment)) === undefined) return await work(undefined);
  const { withClickhouse } = await import('../clickhouse-owner.ts');
  return await withClickhouse(call.environment, work);
}

/** Throws as `findSessions`. */
async function find(call: Call, wanted: Wanted): Promise<Found> {
  const { withLog } = await import('../log-client.ts');
  const { findSessions } = await import('../erase/find.ts');
  const keys = contentKeysOf(call.environment);
  const withForks = flagOption(call, 'forks');
  return await withLog(call.environment, (log) =>
    withStore(call, (clickhouse) => findSessions(wanted, { log, keys, clickhouse }, withForks)),
  );
}

async function rehearse(call: Call, wanted: Wanted): Promise<ExitCode> {
  const { ended, running } = await find(call, wanted);
  const name = ({ session }: FoundSession): string => session;
  if (call.json) writeJson(call, { erase: ended.map(name), running: running.map(name) });
  else
    call.terminal.out(
      [
        ...ended.map((one) => `would erase  ${one.session}\n`),
        ...running.map((one) => `still runs   ${one.session}\n`),
      ].join(''),
    );
  return exitCodes.done;
}

function progress(call: Call, one: ErasedSession): void {
  if (call.json) return;
  const { session, blobs, rows, files } = one;
  const what = [count(blobs, 'blob'), count(rows, 'row'), count(files, 'file')].join(', ');
  call.terminal.err(`${session}  ${what}\n`);
}

const open =
  'Some of it was not sealed: that stays in the log until the janitor deletes it there (LONGREIN_RETENTION_DAYS).';
const published =
  'What was published on longrein.goals, longrein.results and longrein.approvals stays there as long as these topics keep it (30 days).';

const notReached = (places: readonly string[]): string =>
  `Not looked into: ${places.join(', ')}. ClickHouse can rewrite what lies beside the manifest of its export. Delete the rest.`;

type Left = Readonly<{ running: readonly FoundSession[]; unreached: readonly string[] }>;

function tell(call: Call, erased: readonly ErasedSession[], { running, unreached }: Left): void {
  const stays = [
    ...(erased.every(({ sealed }) => sealed) ? [] : [open]),
    published,
    ...(unreached.length === 0 ? [] : [notReached(unreached)]),
  ];
  const still = running.map(({ session }) => session);
  if (call.json) {
    writeJson(call, { erased, running: still, stays });
    return;
  }
  call.terminal.out(`Erased ${count(erased.length, 'session')}. Accounts and hashes stay.\n`);
  for (const line of stays) call.terminal.out(`${line}\n`);
  if (still.length > 0)
    call.terminal.err(
      `Not erased, because they have not ended: ${still.join(', ')}. Erase again when they have.\n`,
    );
}
