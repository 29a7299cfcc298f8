import { existsSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { classData } from '../../../../deploy/local/class-data.ts';

const java = { command: '/usr/bin/java', release: 17, version: '17.0.1', source: 'test' };
let cacheDir = '';
let jar = '';

beforeEach(() => {
  cacheDir = mkdtempSync(join(tmpdir(), 'longrein-class-data-'));
  jar = join(cacheDir, 'a.jar');
  writeFileSync(jar, 'jar');
});

/** The archive that a first run would leave. */
function archiveOf(options: { version: string }): string {
  const found = classData({
    name: 'broker',
    cacheDir,
    java: { ...java, ...options },
    jars: [jar],
    fresh: false,
  });
  return found.leaves?.to ?? '';
}

describe('classData', () => {
  it('lets the first run write the archive and later runs use it', () => {
    const first = classData({ name: 'broker', cacheDir, java, jars: [jar], fresh: false });
    expect(first.flags[0]).toBe(`-XX:ArchiveClassesAtExit=${first.leaves?.from}`);
    writeFileSync(first.leaves?.to ?? '', 'archive');
    const later = classData({ name: 'broker', cacheDir, java, jars: [jar], fresh: false });
    expect(later.flags).toContain(`-XX:SharedArchiveFile=${first.leaves?.to}`);
    expect(later.leaves).toBeUndefined();
  });

  it('wants another archive for another Java and for changed jars', () => {
    const before = archiveOf({ version: '17.0.1' });
    expect(archiveOf({ version: '17.0.2' })).not.toBe(before);
    utimesSync(jar, 1, 1);
    expect(archiveOf({ version: '17.0.1' })).not.toBe(before);
  });

  it('removes what an unfinished run left long ago, and nothing fresh', () => {
    const old = archiveOf({ version: '1' }).replace(/$/, '.1-old.part');
    const fresh = archiveOf({ version: '1' }).replace(/$/, '.1-fresh.part');
    for (const path of [old, fresh]) writeFileSync(path, '');
    utimesSync(old, 1, 1);
    classData({ name: 'broker', cacheDir, java, jars: [jar], fresh: false });
    expect([existsSync(old), existsSync(fresh)]).toEqual([false, true]);
  });

  it('is written anew when the old one is not to be trusted', () => {
    const path = archiveOf({ version: '17.0.1' });
    writeFileSync(path, 'archive');
    const found = classData({ name: 'broker', cacheDir, java, jars: [jar], fresh: true });
    expect(found.leaves?.to).toBe(path);
    expect(existsSync(path)).toBe(false);
  });
});
