/**
 * Records whose keys come from outside (names of tools, ids): only own members count, so that a
 * tool called `constructor` is no better known than others.
 */

export type Members<T> = Readonly<Record<string, T>>;

export const memberOf = <T>(members: Members<T>, key: string): T | undefined =>
  Object.hasOwn(members, key) ? members[key] : undefined;

export const withMember = <T>(members: Members<T>, key: string, member: T): Members<T> => ({
  ...members,
  [key]: member,
});

/** The same object when there is no such member. */
export function withoutMember<T>(members: Members<T>, key: string): Members<T> {
  if (!Object.hasOwn(members, key)) return members;
  const { [key]: _gone, ...rest } = members;
  return rest;
}

/**
 * In an order that does not depend on how the record was built: a restored state decides the same.
 */
export function sortedEntries<T>(members: Members<T>): [string, T][] {
  const entries = Object.entries(members);
  return entries.length < 2 ? entries : entries.sort(([a], [b]) => (a < b ? -1 : 1));
}
