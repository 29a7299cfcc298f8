import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

export type HostProcess = Readonly<{ pid: number; stop(): Promise<void> }>;

/** With LONGREIN_BENCH_PROFILE_DIR each host leaves a processor profile there when it ends. */
function profiling(): string[] {
  const directory = process.env['LONGREIN_BENCH_PROFILE_DIR'] ?? '';
  return directory === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${directory}`];
}

/** Starts `longrein start` for these services and waits until it says that it is ready. */
export function startHostProcess(
  services: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<HostProcess> {
  const cli = join(packageRoot, 'dist/services/console/cli/main.js');
  const env = {
    ...process.env,
    LONGREIN_LOG_LEVEL: 'error',
    LONGREIN_WORKSPACE: packageRoot,
    ...environment,
  };
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const args = [...profiling(), cli, 'start', ...services];
  const child = spawn(process.execPath, args, { env, stdio: [...stdio] });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) =>
      reject(new Error(`host ${services.join(' ')} ended with ${code}`)),
    );
    child.stdout?.on('data', (chunk: Buffer) => {
      if (!chunk.toString('utf8').includes('"ready"')) return;
      const stop = async (): Promise<void> => {
        child.kill('SIGTERM');
        await ended;
      };
      resolve({ pid: child.pid ?? 0, stop });
    });
  });
}
