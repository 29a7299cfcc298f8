/**
 * Files that other programs read while we write them: whole or not at all. Hashes and ends of logs.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * The name under which a file is built before it is complete; unique, so that two writers never
 * share it.
 */
export function partName(path: string): string {
  return `${path}.${process.pid}-${randomUUID().slice(0, 8)}.part`;
}

/** Replaces a JSON file in one step: a reader sees the old or the new text, never a piece. */
export async function writeJsonAtomic(path: string, value: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const part = partName(path);
  try {
    // Addresses may carry passwords.
    await writeFile(part, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

/**
 * The parsed JSON of a file, or undefined if there is no such file. Throws on text that is not
 * JSON.
 */
export async function readJsonIfThere(path: string): Promise<unknown> {
  const text = await readTextIfThere(path);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/** The text of a file, or undefined if there is no such file. */
export async function readTextIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** SHA-256 of a file, as lower-case hex. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** The last lines of a log file, at most 16 KiB of it; empty if there is no file. */
export async function lastLines(path: string, linesMax: number): Promise<string[]> {
  const text = await textFrom(path, -16_384);
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-linesMax);
}

/**
 * The text of a file from an offset on; a negative offset counts from the end. Empty if there is no
 * file.
 */
export async function textFrom(path: string, offsetBytes: number): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const start = offsetBytes < 0 ? Math.max(0, size + offsetBytes) : Math.min(offsetBytes, size);
      const buffer = Buffer.alloc(size - start);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return '';
    throw error;
  }
}

/** Whether an error says that a file or directory does not exist. */
export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

/** The system error code of a thrown thing (`ENOENT`, `ECONNREFUSED`), if it has one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
