/**
 * Runs a program to its end and keeps what it printed. For tools that we call, not for services.
 */
import { spawn } from 'node:child_process';
import type { Environment } from './config.ts';

export interface CommandOptions {
  readonly env: Environment;
  readonly cwd?: string;
  /** Ends the program when it has printed nothing for this long. */
  readonly silenceMs: number;
  readonly onOutput?: (text: string) => void;
}

export interface CommandResult {
  /** Exit code; undefined if the program is not there or was ended. */
  readonly code: number | undefined;
  readonly found: boolean;
  /** The last 64 KiB of both outputs. */
  readonly output: string;
}

const outputCharsMax = 65_536;

/** Never rejects: a program that is missing, fails or hangs is a result. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, [...args], {
      env: { ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    let output = '';
    let timer = setTimeout(() => child.kill('SIGKILL'), options.silenceMs);
    const hear = (chunk: Buffer): void => {
      clearTimeout(timer);
      timer = setTimeout(() => child.kill('SIGKILL'), options.silenceMs);
      const text = chunk.toString('utf8');
      output = (output + text).slice(-outputCharsMax);
      options.onOutput?.(text);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve({ code: undefined, found: false, output: error.message });
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? undefined, found: true, output });
    });
  });
}
