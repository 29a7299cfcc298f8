import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drainPending, Session } from 'chdb';
import { LongreinError, toError } from '../../../services/chassis/errors.ts';
import { engineFile } from './engine-file.ts';
import { rolesFile } from './roles.ts';

/**
 * The one engine of this process. Each statement gets a session of its own, because SET, USE and
 * temporary tables stay in a session; the root session keeps the engine open between them.
 */
export class Engine {
  readonly version: string;
  /** Names of all table functions, in lower case. */
  readonly tableFunctions: ReadonlySet<string>;
  readonly #directory: string;
  readonly #root: Session;

  private constructor(directory: string, root: Session) {
    this.#directory = directory;
    this.#root = root;
    this.version = root.query('SELECT version()', 'TabSeparatedRaw').trim();
    const names = root.query('SELECT name FROM system.table_functions', 'TabSeparatedRaw');
    this.tableFunctions = new Set(names.trim().toLowerCase().split('\n'));
  }

  /**
   * Opens or creates the data. Throws `CLICKHOUSE_DIRECTORY_IN_USE` or `CLICKHOUSE_OPEN_FAILED`.
   */
  static open(options: { directory: string; memoryBytesMax: number }): Engine {
    const { directory } = options;
    mkdirSync(join(directory, 'data'), { recursive: true, mode: 0o700 });
    const rolesPath = join(directory, 'roles.xml');
    writeFileSync(rolesPath, rolesFile(), { mode: 0o600 });
    const settings = engineFile({ ...options, rolesPath });
    writeFileSync(join(directory, 'engine.xml'), settings, { mode: 0o600 });
    try {
      const root = openSession(directory);
      writeFileSync(join(directory, 'owner.pid'), String(process.pid), { mode: 0o600 });
      return new Engine(directory, root);
    } catch (thrown) {
      throw openFailure(directory, toError(thrown));
    }
  }

  /** A session of its own for one statement (0.2 ms). The caller closes it. */
  session(): Session {
    return openSession(this.#directory);
  }

  /** Ends the engine once nothing runs in it any more. */
  async close(): Promise<void> {
    await drainPending();
    this.#root.close();
    await drainPending();
    rmSync(join(this.#directory, 'owner.pid'), { force: true });
  }
}

function openSession(directory: string): Session {
  return new Session(join(directory, 'data'), {
    connectionArgs: [`--config-file=${join(directory, 'engine.xml')}`],
  });
}

function openFailure(directory: string, cause: Error): LongreinError {
  const owner = runningOwner(directory);
  if (owner === undefined) {
    return new LongreinError(
      'CLICKHOUSE_OPEN_FAILED',
      `The embedded ClickHouse engine cannot open ${directory}: ${cause.message}`,
      { fix: 'Check that the directory can be written to and that the disk is not full.', cause },
    );
  }
  return new LongreinError(
    'CLICKHOUSE_DIRECTORY_IN_USE',
    `Another process (${owner}) has the ClickHouse data in ${directory} open.`,
    { fix: `Use the one that runs, stop process ${owner}, or name another directory.`, cause },
  );
}

/** The process that wrote its id, if it is alive; a killed one leaves its file behind. */
function runningOwner(directory: string): number | undefined {
  try {
    const owner = Number(readFileSync(join(directory, 'owner.pid'), 'utf8'));
    if (!Number.isInteger(owner) || owner <= 0 || owner === process.pid) return undefined;
    process.kill(owner, 0);
    return owner;
  } catch (thrown) {
    // EPERM: it is alive and belongs to someone else.
    return (thrown as NodeJS.ErrnoException).code === 'EPERM' ? 0 : undefined;
  }
}
