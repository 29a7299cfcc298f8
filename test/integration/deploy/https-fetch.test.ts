import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PinnedArtifact } from '../../../deploy/local/artifact-pins.ts';
import { ensureArtifacts } from '../../../deploy/local/artifacts.ts';
import { readSettings } from '../../../deploy/local/config.ts';
import { fetchOverHttps } from '../../../deploy/local/https-fetch.ts';
import { freePorts } from '../../../deploy/local/ports.ts';
import { type Progress, silent } from '../../../deploy/local/report.ts';

const body = Buffer.alloc(300_000, 'jar ');
let repository = '';
let dir = '';

/** A Maven repository in which each group behaves in its own way. */
const server = createServer((request, response) => {
  const group = request.url?.split('/')[1];
  if (group === 'gone') response.writeHead(404).end();
  else if (group === 'cut') {
    response.writeHead(200, { 'content-length': body.length });
    response.write(body.subarray(0, 1_000), () => response.destroy());
  } else if (group === 'short') response.end(body.subarray(0, 1_000));
  else if (group === 'good') response.end(body);
  else response.end('<html>log in to the wireless network</html>');
});

function pinOf(group: string, artifact = 'a'): PinnedArtifact {
  const sha256 = createHash('sha256').update(body).digest('hex');
  const file = `${group}-${artifact}.jar`;
  return { group, artifact, version: '1', file, bytes: body.length, sha256 };
}

async function fetchAll(pins: readonly PinnedArtifact[], from = repository): Promise<Progress[]> {
  const seen: Progress[] = [];
  const progress = (value: Progress): void => {
    seen.push(value);
  };
  const targets = pins.map((pin) => ({ pin, dir }));
  await fetchOverHttps({ repository: from, targets, progress });
  return seen;
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  repository = `http://127.0.0.1:${port}`;
});

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'longrein-https-'));
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('downloads over HTTPS', () => {
  it('bring every file whole and report progress up to the total', async () => {
    const pins = Array.from({ length: 9 }, (_value, index) => pinOf('good', `a${index}`));
    const seen = await fetchAll(pins);
    expect(readdirSync(dir).sort()).toEqual(pins.map(({ file }) => file).sort());
    expect(readFileSync(join(dir, 'good-a0.jar')).equals(body)).toBe(true);
    const totalBytes = 9 * body.length;
    expect(seen.at(-1)).toMatchObject({ doneBytes: totalBytes, totalBytes });
  });

  it('install nothing of a connection that is cut', async () => {
    const failure = expect.objectContaining({ code: 'ARTIFACT_DOWNLOAD', retryable: true });
    await expect(fetchAll([pinOf('cut')])).rejects.toEqual(failure);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('install nothing of a file that is short, and name it with both hashes', async () => {
    const pin = pinOf('short');
    const actual = createHash('sha256').update(body.subarray(0, 1_000)).digest('hex');
    const message =
      `${pin.file}: expected SHA-256 ${pin.sha256} (300000 bytes), got ${actual} (1000 bytes). ` +
      'It was cut short. Nothing was installed from it.';
    await expect(fetchAll([pin])).rejects.toMatchObject({ code: 'ARTIFACT_CHECKSUM', message });
    expect(readdirSync(dir)).toEqual([]);
  });

  it('name the address of a file that is not there', async () => {
    const failure = { message: `${repository}/gone/a/1/gone-a.jar: HTTP 404` };
    await expect(fetchAll([pinOf('gone')])).rejects.toMatchObject(failure);
  });

  it('name the address of a repository that does not answer', async () => {
    const [port] = await freePorts([undefined]);
    const from = `http://127.0.0.1:${port}`;
    const failure = { message: expect.stringContaining(`${from}/good/a/1/good-a.jar`) };
    await expect(fetchAll([pinOf('good')], from)).rejects.toMatchObject(failure);
  });

  it('leave no piece of broker or registry when a network answers with its own page', async () => {
    const environment = { LONGREIN_CACHE_DIR: dir, LONGREIN_MAVEN_REPOSITORY: repository };
    const settings = readSettings(environment, dir);
    const failure = {
      code: 'ARTIFACT_CHECKSUM',
      message: expect.stringContaining('.jar: expected'),
    };
    await expect(ensureArtifacts(settings, silent)).rejects.toMatchObject(failure);
    const files = readdirSync(dir, { recursive: true, withFileTypes: true });
    expect(files.filter((entry) => entry.isFile())).toEqual([]);
  });
});
