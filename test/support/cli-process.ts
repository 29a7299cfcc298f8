import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

export type CliRun = Readonly<{ code: number | null; stdout: string; stderr: string }>;

const entry = join(packageRoot, 'dist/services/console/cli/main.js');

/** What a person's shell has, without the settings of this test run. */
function environment(stateDir: string, more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(LONGREIN_|OTEL_|VITEST)|_API_KEY$/.test(name) || /CACHE|JAVA|MAVEN/.test(name),
  );
  return { ...Object.fromEntries(kept), LONGREIN_STATE_DIR: stateDir, ...more };
}

/** The built command as a process of its own, on a stack in this directory. */
export function cliIn(
  stateDir: string,
  more: Readonly<Record<string, string>> = {},
): (...argv: readonly string[]) => Promise<CliRun> {
  if (!existsSync(entry)) throw new Error(`${entry} is missing: run \`npx tsc -p .\` first`);
  return (...argv) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [entry, ...argv], {
        cwd: packageRoot,
        env: environment(stateDir, more),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, stdout, stderr }));
    });
}
