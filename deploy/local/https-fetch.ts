/**
 * Downloads pinned files straight from a Maven repository, several at a time, without Maven.
 * A host that does not answer is given up after 8 s; a body that stops coming after 30 s.
 */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { bytesOf, type PinnedArtifact, repositoryPath } from './artifact-pins.ts';
import { acceptFile } from './checked-file.ts';
import { partName } from './files.ts';
import type { Progress } from './report.ts';

export interface FetchTarget {
  readonly pin: PinnedArtifact;
  readonly dir: string;
}

export interface HttpsFetchOptions {
  readonly repository: string;
  readonly targets: readonly FetchTarget[];
  readonly progress: (progress: Progress) => void;
}

const parallel = 6;
const answerMs = 8_000;
const silenceMs = 30_000;

/**
 * Fetches all targets into their directories. Throws ARTIFACT_DOWNLOAD or ARTIFACT_CHECKSUM for the
 * first file that cannot be had; files that were complete by then stay, pieces do not.
 */
export async function fetchOverHttps(options: HttpsFetchOptions): Promise<void> {
  const totalBytes = bytesOf(options.targets.map((target) => target.pin));
  const stop = new AbortController();
  const waiting = [...options.targets];
  let doneBytes = 0;
  const count = (bytes: number): void => {
    doneBytes += bytes;
    options.progress({
      label: `downloading from ${hostOf(options.repository)}`,
      doneBytes,
      totalBytes,
    });
  };
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await fetchOne({ ...next, repository: options.repository, count, stop });
    }
  };
  const done = await Promise.allSettled(Array.from({ length: parallel }, work));
  const failed = done.find((result) => result.status === 'rejected');
  if (failed) throw stop.signal.reason ?? failed.reason;
}

interface FetchOne extends FetchTarget {
  readonly repository: string;
  readonly count: (bytes: number) => void;
  readonly stop: AbortController;
}

async function fetchOne(options: FetchOne): Promise<void> {
  const to = join(options.dir, options.pin.file);
  const part = partName(to);
  try {
    await download(options, part);
    await acceptFile(options.pin, part, to);
  } catch (error) {
    // The first reason is the one to tell; the other downloads end because of it.
    options.stop.abort(error);
    throw error;
  } finally {
    await rm(part, { force: true });
  }
}

async function download(options: FetchOne, part: string): Promise<void> {
  const url = `${options.repository}/${repositoryPath(options.pin)}`;
  const limit = new AbortController();
  let timer = setTimeout(() => limit.abort(new Error(`no answer in ${answerMs} ms`)), answerMs);
  const signal = AbortSignal.any([limit.signal, options.stop.signal]);
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      clearTimeout(timer);
      timer = setTimeout(
        () => limit.abort(new Error(`nothing came for ${silenceMs} ms`)),
        silenceMs,
      );
      options.count(chunk.length);
      next(null, chunk);
    },
  });
  try {
    const response = await fetch(url, { signal, redirect: 'follow' });
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
    await pipeline(Readable.fromWeb(response.body), meter, createWriteStream(part), { signal });
  } catch (error) {
    throw downloadError(url, limit.signal.aborted ? limit.signal.reason : error);
  } finally {
    clearTimeout(timer);
  }
}

function downloadError(url: string, thrown: unknown): LongreinError {
  const error = toError(thrown);
  const cause = error.cause === undefined ? '' : ` (${toError(error.cause).message})`;
  return new LongreinError('ARTIFACT_DOWNLOAD', `${url}: ${error.message}${cause}`, {
    fix:
      'Check that this machine reaches that host, or set LONGREIN_MAVEN_REPOSITORY to a ' +
      'repository that it reaches, or unset it if Maven is set up for your network.',
    retryable: true,
    cause: thrown,
  });
}

function hostOf(repository: string): string {
  return URL.canParse(repository) ? new URL(repository).host : repository;
}
