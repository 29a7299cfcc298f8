/**
 * The one way a downloaded file enters the cache: complete, with the pinned SHA-256, by a rename.
 */
import { rename, rm, stat } from 'node:fs/promises';
import { LongreinError } from '../../services/chassis/errors.ts';
import type { PinnedFile } from './artifact-pins.ts';
import { isMissing, sha256OfFile } from './files.ts';

/**
 * Moves `from` to `to` if its SHA-256 is the pinned one. Otherwise removes `from` and throws
 * ARTIFACT_CHECKSUM, which names the file and both hashes.
 */
export async function acceptFile(pin: PinnedFile, from: string, to: string): Promise<void> {
  const actual = await sha256OfFile(from);
  if (actual !== pin.sha256) {
    const { size } = await stat(from);
    await rm(from, { force: true });
    throw checksumError(pin, actual, size);
  }
  await rename(from, to);
}

/**
 * Whether a file is there with the pinned size. Cheap; hashes were checked when it came and by
 * doctor.
 */
export async function hasSize(path: string, bytes: number): Promise<boolean> {
  try {
    const { size } = await stat(path);
    return size === bytes;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function checksumError(pin: PinnedFile, actual: string, actualBytes: number): LongreinError {
  const cut = actualBytes < pin.bytes ? ' It was cut short.' : '';
  return new LongreinError(
    'ARTIFACT_CHECKSUM',
    `${pin.file}: expected SHA-256 ${pin.sha256} (${pin.bytes} bytes), ` +
      `got ${actual} (${actualBytes} bytes).${cut} Nothing was installed from it.`,
    {
      fix:
        'Try again. If it stays so, a proxy or mirror changes the file: ask who runs it, or set ' +
        'LONGREIN_MAVEN_REPOSITORY to another Maven repository.',
      retryable: true,
    },
  );
}
