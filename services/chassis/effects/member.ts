/**
 * Records whose keys come from outside (names of tools, ids): only own members count, so that a
 * tool called `constructor` is no better known than others.
 */

export type Members<T> = Readonly<Record<string, T>>;

export const memberOf = <T>(members: Members<T>, key: string): T | undefined =>
  Object.hasOwn(members, key) ? members[key] : undefined;

/**
 * A copy that is a hash table from its first member on. By itself the engine makes a hidden class for every new set of names,
 * and ids are a new set each time: with fifty members that took five times as long. The prototype comes last, so that a member
 * called `__proto__` is one like any other.
 */
function copyOf<T>(members: Members<T>, change: (copy: Record<string, T>) => void): Members<T> {
  const copy = Object.create(null) as Record<string, T>;
  for (const name of Object.keys(members)) copy[name] = members[name] as T;
  change(copy);
  return Object.setPrototypeOf(copy, Object.prototype) as Members<T>;
}

export const withMember = <T>(members: Members<T>, key: string, member: T): Members<T> =>
  copyOf(members, (copy) => {
    copy[key] = member;
  });

/** The same object when there is no such member. */
export function withoutMember<T>(members: Members<T>, key: string): Members<T> {
  if (!Object.hasOwn(members, key)) return members;
  return copyOf(members, (copy) => {
    delete copy[key];
  });
}

/**
 * In an order that does not depend on how the record was built: a restored state decides the same.
 */
export function sortedEntries<T>(members: Members<T>): [string, T][] {
  const entries = Object.entries(members);
  return entries.length < 2 ? entries : entries.sort(([a], [b]) => (a < b ? -1 : 1));
}
