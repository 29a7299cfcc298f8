import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PinnedArtifact } from '../../../../deploy/local/artifact-pins.ts';
import { bytesInFlight, fetchByMaven, mavenPom } from '../../../../deploy/local/maven-fetch.ts';
import type { Progress } from '../../../../deploy/local/report.ts';

const pin: PinnedArtifact = {
  group: 'org.a',
  artifact: 'c',
  version: '1.0',
  extension: 'tar.gz',
  classifier: 'all',
  file: 'c-1.0-all.tar.gz',
  bytes: 5,
  sha256: createHash('sha256').update('right').digest('hex'),
};

let work = '';

/** A `mvn` that runs these shell lines; $out is the directory it is to fill. */
function fakeMaven(lines: string): Record<string, string> {
  const bin = join(work, 'bin');
  mkdirSync(bin);
  const out =
    'for word in "$@"; do case $word in -Dout*) out=$(echo $word | cut -d= -f2);; esac; done';
  writeFileSync(join(bin, 'mvn'), `#!/bin/sh\n${out}\n${lines}\n`);
  chmodSync(join(bin, 'mvn'), 0o755);
  return { PATH: `${bin}:${process.env.PATH}` };
}

async function fetchWith(environment: Record<string, string>) {
  const seen: Progress[] = [];
  const dir = join(work, 'jars');
  mkdirSync(dir);
  const progress = (value: Progress): void => {
    seen.push(value);
  };
  const targets = [{ pin, dir }];
  const cacheDir = join(work, 'cache');
  const { reason } = await fetchByMaven({ targets, cacheDir, environment, progress });
  return { reason, seen, files: readdirSync(dir), left: readdirSync(cacheDir) };
}

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'longrein-maven-'));
});

describe('fetchByMaven', () => {
  it('installs what Maven brings when its hash is right', async () => {
    const lines = `echo "Downloaded from x: y/${pin.file} (5 B)"; printf right > $out/${pin.file}`;
    const result = await fetchWith(fakeMaven(lines));
    expect(result).toMatchObject({ reason: undefined, files: [pin.file], left: [] });
    expect(result.seen.at(-1)).toMatchObject({ doneBytes: 5, totalBytes: 5 });
  });

  it('installs nothing that has a wrong hash, and names file and both hashes', async () => {
    const result = await fetchWith(fakeMaven(`printf wrong > $out/${pin.file}`));
    const actual = createHash('sha256').update('wrong').digest('hex');
    expect(result).toMatchObject({ files: [], left: [] });
    for (const part of [pin.file, pin.sha256, actual]) expect(result.reason).toContain(part);
  });

  it('tells the first error of Maven', async () => {
    const error = "printf '[\\033[1;31mERROR\\033[m] no route to host\\n[ERROR] more\\n'; exit 1";
    const result = await fetchWith(fakeMaven(error));
    expect(result.reason).toBe('[ERROR] no route to host');
  });

  it('says so when there is no Maven', async () => {
    const result = await fetchWith({ PATH: work });
    expect(result.reason).toBe('Maven (mvn) is not on the PATH.');
  });
});

describe('mavenPom', () => {
  it('names the file with type and classifier', () => {
    expect(mavenPom([pin])).toContain(
      '<artifactItem><groupId>org.a</groupId><artifactId>c</artifactId><version>1.0</version>' +
        '<type>tar.gz</type><classifier>all</classifier></artifactItem>',
    );
  });
});

describe('bytesInFlight', () => {
  it('reads the last state out of the progress line of Maven', () => {
    const text = 'Progress (1): 1.5/109 MB\rProgress (1): 12/109 MB\r';
    expect(bytesInFlight(text)).toBe(12_000_000);
    expect(bytesInFlight('Progress (2): 640 kB')).toBe(640_000);
    expect(bytesInFlight('[INFO] Scanning')).toBe(0);
  });
});
