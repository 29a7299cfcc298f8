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
  /** Ends the program after this time, whatever it prints. */
  readonly limitMs?: number;
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
    const end = (): boolean => child.kill('SIGKILL');
    let timer = setTimeout(end, options.silenceMs);
    const limit = options.limitMs === undefined ? undefined : setTimeout(end, options.limitMs);
    const stopTimers = (): void => {
      clearTimeout(timer);
      clearTimeout(limit);
    };
    const hear = (chunk: Buffer): void => {
      clearTimeout(timer);
      timer = setTimeout(end, options.silenceMs);
      const text = chunk.toString('utf8');
      output = (output + text).slice(-outputCharsMax);
      options.onOutput?.(text);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('error', (error) => {
      stopTimers();
      resolve({ code: undefined, found: false, output: error.message });
    });
    child.once('close', (code) => {
      stopTimers();
      resolve({ code: code ?? undefined, found: true, output });
    });
  });
}
