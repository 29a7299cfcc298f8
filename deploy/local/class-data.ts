/**
 * Class data archives of the JVM (CDS): the loaded classes of broker or registry, ready to map. The
 * first run writes one while it ends, later runs start in about half the time (broker 3.2 to 1.7 s,
 * registry 5 to 3 s). An archive fits one Java and one set of jars, so its name is a hash of both. A
 * JVM in a container finds jars and archive under the paths of this machine, so it has its own too.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { partName } from './files.ts';
import type { JavaRuntime } from './java-runtime.ts';

export interface ClassDataOptions {
  readonly name: string;
  readonly cacheDir: string;
  readonly java: JavaRuntime;
  readonly jars: readonly string[];
  /** Writes a new archive in place of one that the JVM may have died of. */
  readonly fresh: boolean;
}

export interface ClassData {
  /** Where archives lie; written to if this run `leaves` one. */
  readonly dir: string;
  readonly flags: readonly string[];
  /** Set if this run writes the archive: what to move where after a clean end. */
  readonly leaves?: { readonly from: string; readonly to: string };
}

const staleMs = 24 * 3_600_000;

/** The flags that use the archive, or that write it if there is none yet. */
export function classData(options: ClassDataOptions): ClassData {
  const dir = classDataDir(options.cacheDir);
  mkdirSync(dir, { recursive: true });
  removeStaleParts(dir);
  const path = archivePath(dir, options);
  if (options.fresh) rmSync(path, { force: true });
  if (existsSync(path)) return { dir, flags: [`-XX:SharedArchiveFile=${path}`, '-Xshare:auto'] };
  const from = partName(path);
  return {
    dir,
    flags: [`-XX:ArchiveClassesAtExit=${from}`, '-Xlog:cds*=error'],
    leaves: { from, to: path },
  };
}

function classDataDir(cacheDir: string): string {
  return join(cacheDir, 'class-data');
}

function archivePath(dir: string, options: ClassDataOptions): string {
  const { command, version, image } = options.java;
  // An image may get another Java under the same name, even of the same version.
  const java = image === undefined ? command : `${command} ${image.id}`;
  const hash = createHash('sha256').update(`${java}\n${version}\n`);
  // The JVM refuses an archive whose jars have another time or size, so these are part of the name.
  for (const jar of options.jars) {
    const { size, mtimeMs } = statSync(jar);
    hash.update(`${jar} ${size} ${mtimeMs}\n`);
  }
  return join(dir, `${options.name}-${hash.digest('hex').slice(0, 16)}.jsa`);
}

/** Pieces of runs that never ended cleanly. */
function removeStaleParts(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (!name.endsWith('.part')) continue;
    const path = join(dir, name);
    const writtenMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - writtenMs > staleMs) rmSync(path, { force: true });
  }
}
