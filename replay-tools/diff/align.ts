/** Puts two lists side by side so that as many as possible meet their like (Myers, "An O(ND) difference algorithm"). */

export type Pair<T> = readonly [T | undefined, T | undefined];

type Trace = readonly Int32Array[];

/** Beyond so many differences the rest is told as replaced: nobody reads it line by line. */
const differencesMax = 2_000;

function furthest(
  one: readonly string[],
  other: readonly string[],
): { trace: Trace; found: boolean } {
  const most = Math.min(one.length + other.length, differencesMax);
  const middle = most + 1;
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
    trace.push(reach.slice());
    for (let line = -edits; line <= edits; line += 2) {
      const below = reach[middle + line - 1] ?? 0;
      const above = reach[middle + line + 1] ?? 0;
      let x = line === -edits || (line !== edits && below < above) ? above : below + 1;
      while (x < one.length && x - line < other.length && one[x] === other[x - line]) x += 1;
      reach[middle + line] = x;
      if (x >= one.length && x - line >= other.length) return { trace, found: true };
    }
  }
  return { trace, found: false };
}

/** Walks the trace back; places in both lists, `-1` where one has nothing. */
function placesOf(trace: Trace, lengths: readonly [number, number]): (readonly [number, number])[] {
  const places: (readonly [number, number])[] = [];
  let [x, y] = lengths;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits] ?? new Int32Array();
    const middle = (reach.length - 3) / 2 + 1;
    const line = x - y;
    const below = reach[middle + line - 1] ?? 0;
    const above = reach[middle + line + 1] ?? 0;
    const isDown = line === -edits || (line !== edits && below < above);
    const before = isDown ? line + 1 : line - 1;
    const fromX = edits === 0 ? 0 : (reach[middle + before] ?? 0);
    const fromY = edits === 0 ? 0 : fromX - before;
    const startX = edits === 0 ? 0 : isDown ? fromX : fromX + 1;
    while (x > startX && y > startX - line) {
      x -= 1;
      y -= 1;
      places.push([x, y]);
    }
    if (edits === 0) break;
    places.push(isDown ? [-1, fromY] : [fromX, -1]);
    x = fromX;
    y = fromY;
  }
  return places.reverse();
}

/** The pairs in order; a missing side is undefined. */
export function align<T>(
  one: readonly T[],
  other: readonly T[],
  keyOf: (item: T) => string,
): readonly Pair<T>[] {
  const { trace, found } = furthest(one.map(keyOf), other.map(keyOf));
  if (found)
    return placesOf(trace, [one.length, other.length]).map(([x, y]) => [one[x], other[y]] as const);
  let same = 0;
  const keys = [one, other].map((list) => list.map(keyOf));
  while (keys[0]?.[same] !== undefined && keys[0][same] === keys[1]?.[same]) same += 1;
  return [
    ...one.slice(0, same).map((item, at): Pair<T> => [item, other[at]]),
    ...one.slice(same).map((item): Pair<T> => [item, undefined]),
    ...other.slice(same).map((item): Pair<T> => [undefined, item]),
  ];
}
