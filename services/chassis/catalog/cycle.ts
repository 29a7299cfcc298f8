/** Finds out whether tasks wait for one another in a circle. */

/**
 * One cycle of `needs` (name to the names it waits for), its first name repeated at the end;
 * undefined if there is none. Names that are not keys are passed over.
 */
export function findCycle(needs: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const waiting = new Map(needs);
  for (let before = -1; before !== waiting.size; ) {
    before = waiting.size;
    for (const [name, others] of waiting) {
      if (!others.some((other) => waiting.has(other))) waiting.delete(name);
    }
  }
  const [start] = waiting.keys();
  return start === undefined ? undefined : walkUntilRepeat(start, waiting);
}

/**
 * Every name that is left waits for another one that is left, so a walk must come back to where it
 * was.
 */
function walkUntilRepeat(
  start: string,
  waiting: ReadonlyMap<string, readonly string[]>,
): string[] | undefined {
  const walked = [start];
  for (let name = start; ; ) {
    const next = waiting.get(name)?.find((other) => waiting.has(other));
    if (next === undefined) return undefined;
    const seenAt = walked.indexOf(next);
    if (seenAt >= 0) return [...walked.slice(seenAt), next];
    walked.push(next);
    name = next;
  }
}
