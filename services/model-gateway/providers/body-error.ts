/**
 * Reads the machine-readable part of an error answer: the codes, and a status if the body carries
 * one.
 */

export type BodyError = Readonly<{ codes: readonly string[]; status: number | undefined }>;

/** What `body` says of an error; nothing if it is not JSON or says nothing. */
export function bodyErrorOf(body: string | undefined): BodyError {
  const parsed = parse(body);
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  const error = fieldOf(first, 'error');
  const values = ['code', 'type', 'status'].map((name) => fieldOf(error, name));
  const codes = values.filter((value) => typeof value === 'string');
  const numbers = values.filter((value) => typeof value === 'number');
  return { codes, status: numbers.find((value) => value >= 400 && value <= 599) };
}

function parse(body: string | undefined): unknown {
  if (body === undefined) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    // Not JSON: a proxy's page, for example. The status code speaks for itself.
    return undefined;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
