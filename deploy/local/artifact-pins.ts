/**
 * The checked-in list of files that the local stack may download (artifacts.json), read and
 * checked.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvariantError } from '../../services/chassis/errors.ts';
import { packageRoot } from './config.ts';

export interface PinnedFile {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface PinnedArtifact extends PinnedFile {
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
  readonly extension?: string;
  readonly classifier?: string;
}

export interface ArtifactPins {
  readonly kafka: { readonly version: string; readonly files: readonly PinnedArtifact[] };
  readonly registry: { readonly version: string; readonly files: readonly PinnedArtifact[] };
  readonly java: {
    readonly package: string;
    readonly version: string;
    readonly files: readonly PinnedFile[];
  };
}

/** Reads artifacts.json of this package. */
export function readPins(): ArtifactPins {
  const path = join(packageRoot(), 'deploy', 'local', 'artifacts.json');
  return parsePins(readFileSync(path, 'utf8'));
}

/** Throws an InvariantError if the text is no list of pins: the file is part of the package. */
export function parsePins(text: string): ArtifactPins {
  const value = JSON.parse(text) as ArtifactPins;
  for (const part of [value.kafka, value.registry, value.java]) {
    if (
      typeof part?.version !== 'string' ||
      !Array.isArray(part.files) ||
      part.files.length === 0
    ) {
      throw new InvariantError('artifacts.json lacks one of kafka, registry, java');
    }
    part.files.forEach(checkPin);
  }
  return value;
}

/** Where a file lies below the root of a Maven repository. */
export function repositoryPath(pin: PinnedArtifact): string {
  return `${pin.group.replaceAll('.', '/')}/${pin.artifact}/${pin.version}/${pin.file}`;
}

/** Sum of sizes, the total of a progress report. */
export function bytesOf(pins: readonly PinnedFile[]): number {
  return pins.reduce((sum, pin) => sum + pin.bytes, 0);
}

function checkPin(pin: PinnedFile): void {
  const fine = /^[\w.+-]+$/.test(pin.file) && pin.bytes > 0 && /^[0-9a-f]{64}$/.test(pin.sha256);
  if (!fine) throw new InvariantError(`artifacts.json: bad pin ${JSON.stringify(pin)}`);
}
