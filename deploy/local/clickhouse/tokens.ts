/**
 * A piece of SQL text that means something; spaces and comments are none. `quoted` is a name without
 * its quotes, escapes as they stand.
 */
export type Token = Readonly<{
  kind: 'word' | 'quoted' | 'string' | 'number' | 'sign';
  text: string;
  /** Where it ends in the statement. */
  end: number;
}>;

const pattern = new RegExp(
  [
    /(?<space>\s+|--[^\n]*|#[ !][^\n]*|\/\*[\s\S]*?(?:\*\/|$))/,
    /(?<string>'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'|\$(?<tag>\w*)\$[\s\S]*?\$\k<tag>\$)/,
    /(?<quoted>`[^`\\]*(?:(?:\\[\s\S]|``)[^`\\]*)*`|"[^"\\]*(?:(?:\\[\s\S]|"")[^"\\]*)*")/,
    /(?<word>[A-Za-z_][\w$]*)/,
    /(?<number>\d[\w.]*)/,
    /(?<sign>[\s\S])/,
  ]
    .map((part) => part.source)
    .join('|'),
  'y',
);

/**
 * Cuts a statement into tokens, one at a time, so that a reader may stop before the data of an
 * insert.
 */
export function* tokens(sql: string): Generator<Token, void> {
  const cutter = new RegExp(pattern);
  for (let match = cutter.exec(sql); match !== null; match = cutter.exec(sql)) {
    const end = cutter.lastIndex;
    const groups = match.groups ?? {};
    if (groups.word !== undefined) yield { kind: 'word', text: match[0], end };
    else if (groups.sign !== undefined) yield { kind: 'sign', text: match[0], end };
    else if (groups.string !== undefined) yield { kind: 'string', text: match[0], end };
    else if (groups.number !== undefined) yield { kind: 'number', text: match[0], end };
    else if (groups.quoted !== undefined) {
      yield { kind: 'quoted', text: match[0].slice(1, -1), end };
    }
  }
}

/** Whether the token is this keyword (given in upper case). */
export function isWord(token: Token | undefined, keyword: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === keyword;
}
