import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

const block = /^```yaml (\S+)\n([\s\S]*?)^```$/gm;

/** The files that a document of this package shows, by path: code blocks that say one after `yaml`. Throws if there is none. */
export function filesOfDocument(path: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(packageRoot, path), 'utf8');
  const files = [...text.matchAll(block)].map(([, name = '', body = '']) => [name, body] as const);
  if (files.length === 0) throw new Error(`${path} shows no files`);
  return Object.fromEntries(files);
}

/** A catalog directory with these files, for tests that share one between them. */
export function temporaryCatalog(files: Readonly<Record<string, string>>) {
  const path = mkdtempSync(join(tmpdir(), 'longrein-catalog-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
