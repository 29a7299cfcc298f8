/**
 * How deep a value from outside may nest. Programs that walk it call themselves once for each
 * level, so that a small text of brackets could end a process.
 */
export const nestingLevelsMax = 256;

const [quote, backslash] = [34, 92];
const opening = new Set([91, 123]);
const closing = new Set([93, 125]);

/** Whether this JSON text nests deeper than `nestingLevelsMax`. The text must be valid JSON. */
export function nestsTooDeeply(json: string): boolean {
  let level = 0;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === quote) index = endOfString(json, index);
    else if (opening.has(code)) level += 1;
    else if (closing.has(code)) level -= 1;
    if (level > nestingLevelsMax) return true;
  }
  return false;
}

/** The place of the quote that ends the string which begins here. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end > 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end < 0 ? json.length : end;
}

function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json.charCodeAt(first - 1) === backslash) first -= 1;
  return (at - first) % 2 === 1;
}
