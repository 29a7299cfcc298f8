import type { ExitCode } from './exit-code.ts';
import type { Environment, Terminal } from './terminal.ts';

/** What a command is given, and what a command is. */

export interface Context {
  readonly environment: Environment;
  readonly workingDir: string;
  readonly terminal: Terminal;
}

export type OptionValue = string | boolean | readonly string[] | undefined;

/** One call of a command, with what was written behind it. */
export interface Call extends Context {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, OptionValue>>;
  /** One JSON document on standard output, nothing else there. */
  readonly json: boolean;
}

export interface OptionSpec {
  /** As commander writes them: `--limit <n>`. */
  readonly flags: string;
  readonly about: string;
  readonly choices?: readonly string[];
}

export interface CommandSpec {
  /** Name and arguments: `verify <session>`. */
  readonly name: string;
  readonly about: string;
  readonly options?: readonly OptionSpec[];
  /** Lines for `--help`. */
  readonly examples: readonly string[];
  /** False for a command whose standard output is not its own. */
  readonly json?: false;
  run(call: Call): Promise<ExitCode>;
}

export interface GroupSpec {
  readonly name: string;
  readonly about: string;
  readonly commands: readonly CommandSpec[];
}

/** The text of an option, or undefined if it was not given. */
export function textOption(call: Call, name: string): string | undefined {
  const value = call.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** The texts of an option that may be repeated. */
export function listOption(call: Call, name: string): readonly string[] {
  const value = call.options[name];
  return Array.isArray(value) ? value : [];
}

export const flagOption = (call: Call, name: string): boolean => call.options[name] === true;

/** Writes the one JSON document of a `--json` call. */
export function writeJson(context: Context, document: unknown): void {
  context.terminal.out(`${JSON.stringify(document, null, context.terminal.outIsTty ? 2 : 0)}\n`);
}
