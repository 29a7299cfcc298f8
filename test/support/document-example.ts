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

/** What a document says that an example gives: the block of text or JSON that has its name. */
export function shownOutput(document: string, example: string): string {
  const text = readFileSync(join(packageRoot, 'docs', document), 'utf8');
  const found = new RegExp(`^\`\`\`(?:text|json) ${example}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(
    text,
  );
  if (found?.[1] === undefined) throw new Error(`docs/${document} shows no output of ${example}`);
  return found[1].trimEnd();
}

/** Starts a program as another package's would run: it imports `longrein` by name. */
export function startProgram(name: string, code: string, env: Record<string, string>) {
  // Inside the package its own name resolves, by its exports.
  const folder = join(packageRoot, 'dist', 'documents');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}-${process.pid}.mjs`);
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file], { env: { ...process.env, ...env } });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  const status = new Promise<unknown>((resolve) => child.once('close', resolve));
  return { child, said, status };
}

/** Runs such a program to its end. Answers its lines. */
export async function runProgram(name: string, code: string, env: Record<string, string>) {
  const program = startProgram(name, code, env);
  const status = await program.status;
  const { out, err } = program.said;
  return { status, lines: out.trimEnd().split('\n'), err };
}
