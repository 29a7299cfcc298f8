import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

export type SourceFile = Readonly<{ path: string; text: string; lines: number }>;

const folders = ['schemas', 'state-machines', 'services', 'deploy', 'replay-tools', 'test'];
const ignored = new Set(['node_modules', 'dist', 'generated', 'fixtures']);

function walk(directory: string, found: string[]): string[] {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (ignored.has(name)) continue;
    if (statSync(path).isDirectory()) walk(path, found);
    else found.push(path);
  }
  return found;
}

/** Every source file of the project, paths relative to its root, with forward slashes. */
export function sourceFiles(pattern = /\.(ts|tsx|mjs)$/): readonly SourceFile[] {
  return folders
    .flatMap((folder) => walk(join(packageRoot, folder), []))
    .filter((path) => pattern.test(path))
    .map((path) => {
      const text = readFileSync(path, 'utf8');
      const lines = text.split('\n').length - 1;
      return { path: relative(packageRoot, path).replaceAll('\\', '/'), text, lines };
    });
}

export type Import = Readonly<{ from: string; to: string; types: boolean }>;

const importLine =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^'"();]*?\sfrom\s+)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;

/** Imports of a file: project paths for relative ones, the specifier as it is for packages. */
export function importsOf(file: SourceFile): readonly Import[] {
  return [...file.text.matchAll(importLine)].flatMap((match) => {
    const to = match[2] ?? match[3];
    if (to === undefined) return [];
    const target = to.startsWith('.')
      ? relative(packageRoot, resolve(packageRoot, dirname(file.path), to)).replaceAll('\\', '/')
      : to;
    return [{ from: file.path, to: target, types: match[1] !== undefined }];
  });
}

/** The code of a file without comments and without the insides of texts. */
export const bareCode = (text: string): string =>
  text
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''")
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '');
