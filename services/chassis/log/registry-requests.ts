import type { JsonObject } from '../../../schemas/json.ts';
import { LongreinError, toError } from '../errors.ts';

/** Requests to the registry's Confluent API that the client library does not make, or not in this way. */

const timeoutMs = 10_000;
const contentType = 'application/vnd.schemaregistry.v1+json';

/** Levels under which a release that cannot read what is in the log is refused. */
const strictLevels: readonly string[] = [
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
];

export function registryUnreachable(url: string, thrown: unknown): LongreinError {
  return new LongreinError(
    'REGISTRY_UNREACHABLE',
    `schema registry ${url} cannot be reached: ${toError(thrown).message}`,
    {
      fix: 'start it (`longrein up`) or correct LONGREIN_REGISTRY_URL',
      retryable: true,
      cause: thrown,
    },
  );
}

async function ask(url: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'content-type': contentType };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(`${url}${path}`, { headers, signal, ...init });
  } catch (thrown) {
    throw registryUnreachable(url, thrown);
  }
}

/** What has a schema there. Throws LongreinError REGISTRY_UNREACHABLE where it does not answer, or not well. */
export async function subjectNames(url: string): Promise<ReadonlySet<string>> {
  const answer = await ask(url, '/subjects');
  if (!answer.ok) throw registryUnreachable(url, new Error(`status ${answer.status}`));
  return new Set((await answer.json()) as readonly string[]);
}

const subjectPath = (name: string): string => `/subjects/${encodeURIComponent(name)}`;

/** The id under which exactly this schema stands at the registry already. */
export async function knownId(
  url: string,
  name: string,
  schema: JsonObject,
): Promise<number | undefined> {
  const body = JSON.stringify({ schemaType: 'JSON', schema: JSON.stringify(schema) });
  const answer = await ask(url, subjectPath(name), { method: 'POST', body });
  if (!answer.ok) return undefined;
  const { id } = (await answer.json()) as { id?: number };
  return typeof id === 'number' ? id : undefined;
}

/** The newest schema of the subject, as text. */
export async function latestSchema(url: string, name: string): Promise<string | undefined> {
  const answer = await ask(url, `${subjectPath(name)}/versions/latest`);
  if (!answer.ok) return undefined;
  return ((await answer.json()) as { schema?: string }).schema;
}

export type SubjectVersion = Readonly<{ subject: string; version: number }>;

/** Where this id stands at the registry; nowhere if nobody ever registered it. Throws REGISTRY_UNREACHABLE. */
export async function versionsOfId(url: string, id: number): Promise<readonly SubjectVersion[]> {
  const answer = await ask(url, `/schemas/ids/${id}/versions`);
  if (answer.status === 404) return [];
  if (!answer.ok) throw registryUnreachable(url, new Error(`status ${answer.status}`));
  return (await answer.json()) as readonly SubjectVersion[];
}

const levelPath = (name: string): string => `/config/${encodeURIComponent(name)}`;

async function strictLevel(url: string, name: string): Promise<string | undefined> {
  const answer = await ask(url, levelPath(name));
  if (!answer.ok) return undefined;
  const { compatibilityLevel = '' } = (await answer.json()) as { compatibilityLevel?: string };
  const level = compatibilityLevel.toUpperCase();
  return strictLevels.includes(level) ? level : undefined;
}

const conflict = 409;
const triesMax = 10;

/**
 * The compatibility of the subject, which is set to BACKWARD where it would let an incompatible schema in. Before the
 * first schema, so that there is no moment without it. Hosts that start at the same time get in each other's way here:
 * a conflict is asked about again. Throws LongreinError REGISTRY_REFUSED.
 */
export async function guardedLevel(url: string, name: string): Promise<string> {
  const body = JSON.stringify({ compatibility: 'BACKWARD' });
  for (let tries = 1; ; tries++) {
    const level = await strictLevel(url, name);
    if (level !== undefined) return level;
    const set = await ask(url, levelPath(name), { method: 'PUT', body });
    if (set.ok) return 'BACKWARD';
    if (set.status !== conflict || tries === triesMax) throw notGuarded(url, name, set.status);
    await new Promise((resolve) => setTimeout(resolve, 20 * tries));
  }
}

function notGuarded(url: string, name: string, status: number): LongreinError {
  const message = `the compatibility of ${name} cannot be set at ${url}: status ${status}`;
  return new LongreinError('REGISTRY_REFUSED', message, {
    fix: `set the compatibility of ${name} to BACKWARD, or give this program the right to`,
    retryable: status >= 500 || status === conflict,
  });
}
