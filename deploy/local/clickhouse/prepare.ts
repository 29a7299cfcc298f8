import type { Session } from 'chdb';
import type { Engine } from './engine.ts';
import { refuseOutside, refuseOutsideValues } from './guard.ts';
import { analystLimits, analystModes } from './limits.ts';
import type { StatementRequest } from './request.ts';
import { analystRole, maskedAnalystRole, maskedView } from './roles.ts';

/** The database of callers that name none and may not use `default`. */
const restrictedDatabase = 'longrein';

/** Refuses what a restricted caller may not ask. Throws code 497. */
export function check(engine: Engine, request: StatementRequest): void {
  if (request.caller === 'owner') return;
  refuseOutsideValues(request);
  refuseOutside(request.sql, engine.tableFunctions);
}

/**
 * Gives the session its database, settings and parameters. Throws what the engine says (81, 115,
 * …).
 */
export async function prepare(
  session: Session,
  request: StatementRequest,
  defaults: Readonly<Record<string, string>>,
): Promise<void> {
  await useDatabase(session, request);
  const { parameters } = request;
  const settings = { ...defaults, ...asked(request), ...readOnly(request) };
  const assignments = [
    ...Object.entries(settings),
    ...Object.entries(parameters).map(([name, value]) => [`param_${name}`, value] as const),
  ].map(([name, value]) => `${name} = ${literal(value)}`);
  // Settings may be read-only from here on; a role is taken all the same.
  const role = await roleOf(session, request);
  await session.queryAsync(`SET ${assignments.join(', ')}`);
  if (role !== undefined) await session.queryAsync(`SET ROLE ${role}`);
}

/** What the engine itself lets this caller do; undefined: everything. */
async function roleOf(session: Session, { caller }: StatementRequest): Promise<string | undefined> {
  // Every role is given to the one user that the engine knows: the owner need not take one.
  if (caller !== 'analyst') return undefined;
  const query = `SELECT name FROM system.tables
    WHERE database = '${restrictedDatabase}' AND name = '${maskedView}'`;
  const found = await session.queryAsync(query, { format: 'TSVRaw' });
  return found.text().trim() === '' ? analystRole : maskedAnalystRole;
}

async function useDatabase(session: Session, request: StatementRequest): Promise<void> {
  const named = request.database === 'default' ? undefined : request.database;
  if (request.caller === 'owner') {
    if (named !== undefined) await session.queryAsync(`USE ${identifier(named)}`);
    return;
  }
  // Never `default`, in which any path is a table; `system` is always there.
  const known = `SELECT name FROM system.databases WHERE name = ${literal(restrictedDatabase)}`;
  const found = named ?? (await session.queryAsync(known, { format: 'TSVRaw' })).text().trim();
  await session.queryAsync(`USE ${identifier(found === '' ? 'system' : found)}`);
}

function readOnly(request: StatementRequest): { readonly?: string } {
  if (request.caller === 'owner') return {};
  return { readonly: request.settings.readonly === '1' ? '1' : '2' };
}

/** What the caller set; a restricted one gets no more than its limits. */
function asked({ caller, settings }: StatementRequest): Readonly<Record<string, string>> {
  if (caller === 'owner') return settings;
  const limited = Object.entries(analystLimits).map(([name, most]) => {
    const wanted = Number(settings[name] ?? most);
    // 0 means no limit at all.
    return [name, String(wanted > 0 && wanted < most ? wanted : most)] as const;
  });
  return { ...settings, ...Object.fromEntries(limited), ...analystModes };
}

function literal(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function identifier(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
