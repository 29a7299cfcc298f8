/** The ready questions of deploy/clickhouse/queries: a file each, with a title and parameters. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../chassis/config/package-root.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { nearest } from '../../chassis/words/nearest.ts';
import { UsageError } from './exit-code.ts';

export interface QueryParameter {
  readonly name: string;
  readonly type: string;
  /** Undefined where it has to be given. */
  readonly standard: string | undefined;
  readonly about: string;
}

export interface ReadyQuery {
  readonly name: string;
  readonly title: string;
  /** Reads whole events, not rollups or thin tables. */
  readonly scans: boolean;
  /** Besides `tenant`, `since` and `until`, which most of them take. */
  readonly parameters: readonly QueryParameter[];
  readonly sql: string;
}

const directory = (): string => join(packageRoot, 'deploy', 'clickhouse', 'queries');

/** All of them by name. Throws QUERIES_MISSING. */
export function readReadyQueries(from: string = directory()): readonly ReadyQuery[] {
  if (!existsSync(from)) {
    const fix = 'Install the package whole: deploy/clickhouse/queries belongs to it.';
    throw new LongreinError('QUERIES_MISSING', `there are no queries in ${from}`, { fix });
  }
  const files = readdirSync(from).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => {
    return parseQuery(file.replace('.sql', ''), readFileSync(join(from, file), 'utf8'));
  });
}

/** One by its name. Throws UsageError, with the nearest name. */
export function readyQuery(name: string, all = readReadyQueries()): ReadyQuery {
  const found = all.find((one) => one.name === name);
  if (found !== undefined) return found;
  const meant = nearest(
    name,
    all.map((one) => one.name),
  );
  const advice = meant === undefined ? '' : `Did you mean ${meant}? `;
  throw new UsageError(`there is no query "${name}"`, `${advice}See them all with: longrein query`);
}

/** The first comment is the title; `-- @name Type=standard about` declares a parameter. */
export function parseQuery(name: string, text: string): ReadyQuery {
  const comments = text.split('\n').filter((line) => line.startsWith('-- '));
  const plain = comments.filter((line) => !line.startsWith('-- @'));
  return {
    name,
    title: (plain[0] ?? name).slice(3),
    scans: plain.some((line) => line.includes('Reads whole events')),
    parameters: comments.flatMap((line) => parameterOf(line)),
    sql: text.replace(/^-- .*\n/gm, '').trim(),
  };
}

function parameterOf(line: string): QueryParameter[] {
  const found = /^-- @(\w+) (\w+)(=(\S*))?\s?(.*)$/.exec(line);
  if (found === null) return [];
  const [, name = '', type = '', hasStandard, standard, about = ''] = found;
  return [{ name, type, standard: hasStandard === undefined ? undefined : standard, about }];
}

export interface GivenParameters {
  readonly tenant: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly more: Readonly<Record<string, string>>;
}

/** Values for all that the statement names. Throws UsageError for one that is missing or unknown. */
export function parametersFor(query: ReadyQuery, given: GivenParameters): Record<string, string> {
  const known = query.parameters.map((one) => one.name);
  const unknown = Object.keys(given.more).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const list = known.length === 0 ? 'none besides --tenant, --since, --until' : known.join(', ');
    throw new UsageError(`"${query.name}" has no parameter "${unknown}"`, `It takes: ${list}.`);
  }
  const own = query.parameters.map(({ name, type, standard }) => {
    const value = given.more[name] ?? standard;
    if (value !== undefined) return [name, value] as const;
    throw new UsageError(
      `"${query.name}" needs a value for ${name} (${type})`,
      `Add --param ${name}=…`,
    );
  });
  const seconds = (ms: number): string => String(Math.floor(ms / 1_000));
  return {
    tenant: given.tenant,
    since: seconds(given.sinceMs),
    until: seconds(given.untilMs),
    ...Object.fromEntries(own),
  };
}
