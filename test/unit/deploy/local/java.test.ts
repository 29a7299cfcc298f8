import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../../deploy/local/config.ts';
import { findInstalledJava, findJava } from '../../../../deploy/local/java.ts';
import { parseJavaVersion } from '../../../../deploy/local/java-runtime.ts';
import { silent } from '../../../../deploy/local/report.ts';

const work = mkdtempSync(join(tmpdir(), 'longrein-java-'));

/** A Java home whose `java` prints a version and does nothing else. */
function fakeJava(version: string): string {
  const home = mkdtempSync(join(work, 'home-'));
  mkdirSync(join(home, 'bin'));
  const script = `#!/bin/sh\necho 'openjdk version "${version}"' >&2\n`;
  writeFileSync(join(home, 'bin', 'java'), script);
  chmodSync(join(home, 'bin', 'java'), 0o755);
  return home;
}

function settingsWith(environment: Record<string, string>) {
  return readSettings(
    { LONGREIN_CACHE_DIR: join(work, 'cache'), PATH: work, ...environment },
    work,
  );
}

describe('parseJavaVersion', () => {
  it.each([
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['java version "1.8.0_392"', 8],
    ['openjdk version "25" 2025-09-16 LTS', 25],
    ['Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.2"', 21],
  ])('reads the release out of %j', (text, release) => {
    expect(parseJavaVersion(text)?.release).toBe(release);
  });

  it('finds none in what the stub of macOS says', () => {
    expect(parseJavaVersion('The operation couldn’t be completed.')).toBeUndefined();
  });
});

describe('findInstalledJava', () => {
  it('prefers LONGREIN_JAVA_HOME to JAVA_HOME and the PATH', async () => {
    const named = fakeJava('21.0.1');
    const settings = settingsWith({
      LONGREIN_JAVA_HOME: named,
      JAVA_HOME: fakeJava('17.0.1'),
      PATH: join(fakeJava('18'), 'bin'),
    });
    const expected = { release: 21, command: join(named, 'bin', 'java') };
    expect(await findInstalledJava(settings)).toMatchObject(expected);
  });

  it('passes over a JAVA_HOME that is too old', async () => {
    const settings = settingsWith({
      JAVA_HOME: fakeJava('11.0.2'),
      PATH: join(fakeJava('17.0.9'), 'bin'),
    });
    expect(await findInstalledJava(settings)).toMatchObject({ release: 17, command: 'java' });
  });

  it('refuses a LONGREIN_JAVA_HOME that is too old, by name and version', async () => {
    const home = fakeJava('11.0.2');
    await expect(
      findInstalledJava(settingsWith({ LONGREIN_JAVA_HOME: home })),
    ).rejects.toMatchObject({
      code: 'JAVA_UNUSABLE',
      message: `LONGREIN_JAVA_HOME=${home} is Java 11.0.2, but the broker needs 17 or newer`,
    });
  });

  it('refuses a LONGREIN_JAVA_HOME that is no Java', async () => {
    const settings = settingsWith({ LONGREIN_JAVA_HOME: join(work, 'nowhere') });
    await expect(findInstalledJava(settings)).rejects.toMatchObject({ code: 'JAVA_UNUSABLE' });
  });

  it('tells for each place why it has none', async () => {
    const home = fakeJava('1.8.0_392');
    const reasons = await findInstalledJava(settingsWith({ JAVA_HOME: home }));
    expect(reasons).toEqual([
      `JAVA_HOME=${home} is Java 1.8.0_392, but the broker needs 17 or newer`,
      'java on the PATH: there is no java',
    ]);
  });
});

describe('findJava', () => {
  it('says what was tried and what to do when there is neither Java nor Python', async () => {
    await expect(findJava(settingsWith({}), silent)).rejects.toMatchObject({
      code: 'JAVA_MISSING',
      message: expect.stringContaining('there is no Python with pip'),
      fix: expect.stringContaining('LONGREIN_JAVA_HOME'),
    });
  });
});
