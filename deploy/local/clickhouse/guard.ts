import { exception } from './exception.ts';
import { isLimit } from './limits.ts';
import { isWord, type Token, tokens } from './tokens.ts';

/**
 * What restricted callers may not reach. The engine runs as one user and its read-only mode still
 * lets a query read files and open connections, so what it is asked is checked here before: every
 * table function that is not known to stay inside, the functions and settings that read files, and
 * the database `default`, in which this engine takes any path as a table name.
 */
const insideFunctions = new Set([
  'format',
  'generaterandom',
  'generateseries',
  'generate_series',
  'null',
  'numbers',
  'numbers_mt',
  'primes',
  'values',
  'view',
  'zeros',
  'zeros_mt',
]);
const fileFunctions = new Set([
  'file',
  'catboostevaluate',
  'joinget',
  'joingetornull',
  'hascolumnintable',
]);
const fileSettings = /^format_(schema|template|avro)/i;

/** Throws code 497 and names what is not allowed. */
export function refuseOutside(sql: string, tableFunctions: ReadonlySet<string>): void {
  let name: Token | undefined;
  for (const token of tokens(sql)) {
    if (token.kind === 'sign') {
      if (token.text === '(' && name !== undefined) refuseFunction(name.text, tableFunctions);
      if (token.text === '.' && name !== undefined) refuseDefault(name.text);
      // Odd blanks between a name and its bracket are spaces to the engine: the name stays.
      if (token.text.charCodeAt(0) < 128) name = undefined;
    } else {
      if (isWord(name, 'USE')) refuseDefault(token.text);
      name = token;
    }
    refuseOddNames(token);
  }
}

/** The same for what comes beside the statement. Throws code 497. */
export function refuseOutsideValues(request: {
  sql: string;
  settings: Readonly<Record<string, string>>;
  parameters: Readonly<Record<string, string>>;
}): void {
  for (const name of Object.keys(request.settings)) refuseSetting(name);
  if (!/identifier/i.test(request.sql)) return;
  // A parameter can stand for the name of a database.
  for (const value of Object.values(request.parameters)) refuseDefault(value);
}

/** Names that the engine reads otherwise than they look, and names of settings that open files. */
function refuseOddNames(token: Token): void {
  if (token.kind === 'sign' && /[\u2018\u2019\u201c\u201d]/.test(token.text)) {
    throw exception(62, 'Use plain quotes instead of typographic ones');
  }
  if (token.kind === 'quoted' && /[\\`"]/.test(token.text)) {
    throw exception(497, `Name ${token.text} is not allowed here: it has escapes or quotes in it`);
  }
  if (token.kind === 'word' || token.kind === 'quoted') {
    refuseSetting(token.text);
    if (isLimit(token.text.toLowerCase()))
      throw exception(497, `Setting "${token.text}" is a limit of this user`);
  }
}

function refuseFunction(name: string, tableFunctions: ReadonlySet<string>): void {
  const lower = name.toLowerCase();
  if (fileFunctions.has(lower) || (tableFunctions.has(lower) && !insideFunctions.has(lower))) {
    throw exception(
      497,
      `Function "${name}" is not allowed here: read tables of this database only`,
    );
  }
}

function refuseDefault(name: string): void {
  if (/^\W*default\b/i.test(name)) {
    throw exception(497, 'Database "default" is not allowed here: name another one');
  }
}

function refuseSetting(name: string): void {
  if (fileSettings.test(name)) throw exception(497, `Setting "${name}" is not allowed here`);
}
