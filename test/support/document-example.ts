import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

/** Blocks of code in a document, in their order: what readers copy must run. */
export function blocksOf(document: string, language: string): readonly string[] {
  const text = readFileSync(join(packageRoot, 'docs', document), 'utf8');
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  return [...found].map((one) => one[1] ?? '');
}

/** Runs a program as another package's would run: it imports `longrein` by name. Answers its lines. */
export async function runProgram(name: string, code: string, env: Record<string, string>) {
  // Inside the package its own name resolves, by its exports.
  const folder = join(packageRoot, 'dist', 'documents');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}-${process.pid}.mjs`);
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file], { env: { ...process.env, ...env } });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const status = await new Promise((resolve) => child.once('close', resolve));
  return { status, lines: out.trimEnd().split('\n'), err };
}
