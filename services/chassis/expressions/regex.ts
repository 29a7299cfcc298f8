/**
 * Refuses regular expressions whose search can take exponential time: the engine counts no steps
 * inside one, so such a pattern would hang a pure decision. What is left is at worst polynomial.
 */

type Group = { repeats: boolean; alternates: boolean };

/** Why `source` is refused, or undefined if it may be used. */
export function slowRegexReason(source: string): string | undefined {
  const open: Group[] = [{ repeats: false, alternates: false }];
  for (let at = 0; at < source.length; at = endOfAtom(source, at)) {
    const character = source[at];
    const inner = open.at(-1);
    if (character === '\\' && /[1-9k]/.test(source[at + 1] ?? '')) return 'it has a back-reference';
    if (character === '(') open.push({ repeats: false, alternates: false });
    else if (character === '|' && inner) inner.alternates = true;
    else if (character === ')' && open.length > 1) {
      const reason = closeGroup(open, source.slice(at + 1, at + 25));
      if (reason !== undefined) return reason;
    } else if (inner && isUnbounded(source.slice(endOfAtom(source, at)))) inner.repeats = true;
  }
  return undefined;
}

function closeGroup(open: Group[], after: string): string | undefined {
  const group = open.pop();
  const outer = open.at(-1);
  if (!group || !outer) return undefined;
  const repeated = isUnbounded(after);
  if (/^[*+{]/.test(after) && group.repeats) return 'it repeats a group that repeats inside';
  if (repeated && group.alternates) return 'it repeats a group of alternatives';
  outer.repeats ||= repeated || group.repeats;
  outer.alternates ||= group.alternates;
  return undefined;
}

function isUnbounded(after: string): boolean {
  return /^(?:[*+]|\{\d+,\})/.test(after);
}

/** The index after the escape, class or single character that starts at `at`. */
function endOfAtom(source: string, at: number): number {
  if (source[at] === '\\') return at + 2;
  if (source[at] !== '[') return at + 1;
  let end = at + 1;
  while (end < source.length && source[end] !== ']') end += source[end] === '\\' ? 2 : 1;
  return end + 1;
}
