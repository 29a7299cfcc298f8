/**
 * The figures of a lock file, computed without any code of the demo and by other means: the depth
 * by relaxation of all edges, the nearest copy by the longest folder that holds both.
 */

export type LockEntry = Readonly<{
  name?: string;
  version?: string;
  license?: string;
  link?: boolean;
  resolved?: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  hasInstallScript?: boolean;
  dependencies?: Readonly<Record<string, string>>;
  devDependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
  peerDependencies?: Readonly<Record<string, string>>;
}>;
export type LockFile = Readonly<{
  lockfileVersion: number;
  packages: Readonly<Record<string, LockEntry>>;
}>;

type Installed = Readonly<{ path: string; label: string; entry: LockEntry }>;

const segment = 'node_modules';

/** Installed copies, in the order of the file. */
export function installedOf(lock: LockFile): Installed[] {
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path.split('/').includes(segment) && entry.link !== true)
    .map(([path, entry]) => {
      const name = entry.name ?? path.split(`${segment}/`).at(-1);
      return { path, label: `${name}@${entry.version}`, entry };
    });
}

/** Steps from the nearest project to every installed copy that can be reached. */
export function depthsOf(lock: LockFile): Map<string, number> {
  const edges = edgesOf(lock);
  const projects = projectsOf(lock);
  const depths = new Map(projects.map((path) => [path, 0]));
  for (let changed = true; changed; ) {
    changed = false;
    for (const [from, to] of edges) {
      const through = (depths.get(from) ?? Number.POSITIVE_INFINITY) + 1;
      if (through >= (depths.get(to) ?? Number.POSITIVE_INFINITY)) continue;
      depths.set(to, through);
      changed = true;
    }
  }
  for (const path of projects) depths.delete(path);
  return depths;
}

/** Folders of the project's own code: the root and its workspaces. */
export function projectsOf(lock: LockFile): string[] {
  return Object.keys(lock.packages).filter((path) => !path.split('/').includes(segment));
}

/** Pairs of paths: who needs, and the copy that it gets. */
export function edgesOf(lock: LockFile): [string, string][] {
  const projects = new Set(projectsOf(lock));
  return Object.entries(lock.packages).flatMap(([path, entry]) => {
    const groups = [entry.dependencies, entry.optionalDependencies, entry.peerDependencies];
    if (projects.has(path)) groups.push(entry.devDependencies);
    const names = new Set(groups.flatMap((group) => Object.keys(group ?? {})));
    return [...names].flatMap((name): [string, string][] => {
      const nearest = nearestCopy(lock, path, name);
      return nearest === undefined ? [] : [[path, nearest]];
    });
  });
}

function nearestCopy(lock: LockFile, from: string, name: string): string | undefined {
  const ending = `${segment}/${name}`;
  const found = Object.keys(lock.packages)
    .filter((path) => path === ending || path.endsWith(`/${ending}`))
    .map((path) => ({ path, folder: path.slice(0, -ending.length) }))
    .filter(({ folder }) => `${from}/`.startsWith(folder))
    .sort((left, right) => right.folder.length - left.folder.length)[0];
  if (found === undefined) return undefined;
  const entry = lock.packages[found.path];
  return entry?.link === true ? entry.resolved : found.path;
}
