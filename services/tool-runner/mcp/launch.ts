/** From the configuration of a server to what is spawned: command, arguments, environment. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { LongreinError } from '../../chassis/errors.ts';
import type { McpServerConfig } from './server-config.ts';

export type Launch = Readonly<{
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
}>;

export type Environment = Readonly<Record<string, string | undefined>>;

const workspaceMark = /\$\{workspace\}/g;

/** Without these many programs do not start at all. None holds a secret. */
const alwaysGiven = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'SystemRoot',
  'TEMP',
  'APPDATA',
  'LOCALAPPDATA',
  'USERPROFILE',
];

export type Surroundings = Readonly<{
  environment: Environment;
  /** What `${workspace}` stands for in the arguments and the directory. */
  workspace: string;
}>;

/** Throws LongreinError `MCP_PACKAGE_MISSING`, `MCP_BIN_MISSING` or `MCP_ENV_MISSING`. */
export function launchOf(config: McpServerConfig, surroundings: Surroundings): Launch {
  const filled = (text: string) => text.replaceAll(workspaceMark, () => surroundings.workspace);
  const args = config.args.map(filled);
  const env = environmentOf(config, surroundings.environment);
  const cwd = config.cwd === undefined ? undefined : filled(config.cwd);
  if ('command' in config) return { command: config.command, args, env, cwd };
  const script = scriptOf(config.package, config.bin);
  // The same Node as this one: its version is known to do, and PATH does not matter.
  return { command: process.execPath, args: [script, ...args], env, cwd };
}

function environmentOf(config: McpServerConfig, environment: Environment): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of alwaysGiven) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  for (const name of config.env) {
    const value = environment[name];
    if (value === undefined) throw variableMissing(config.name, name);
    env[name] = value;
  }
  return env;
}

function scriptOf(packageName: string, bin: string): string {
  const directory = directoryOf(packageName);
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const programs = programsOf(packageName, manifest.bin);
  const script = programs.get(bin);
  if (script === undefined) throw binMissing(packageName, bin, [...programs.keys()]);
  return join(directory, script);
}

/** Looked up by hand: a package may refuse to have its package.json imported. */
function directoryOf(packageName: string): string {
  const roots = createRequire(import.meta.url).resolve.paths(packageName) ?? [];
  const directory = roots
    .map((root) => join(root, packageName))
    .find((candidate) => existsSync(join(candidate, 'package.json')));
  if (directory !== undefined) return directory;
  throw new LongreinError(
    'MCP_PACKAGE_MISSING',
    `the npm package ${packageName} is not installed`,
    {
      fix: `Run \`npm install ${packageName}\` beside this program.`,
    },
  );
}

/** One program without a name has the package's, without the scope. */
function programsOf(packageName: string, bins: unknown): ReadonlyMap<string, string> {
  const named =
    typeof bins === 'string' ? { [packageName.replace(/^@[^/]*\//, '')]: bins } : (bins ?? {});
  return new Map(Object.entries(named).map(([name, script]) => [name, String(script)]));
}

function binMissing(packageName: string, bin: string, names: readonly string[]): LongreinError {
  const message = `the npm package ${packageName} has no program ${bin}`;
  const fix = names.length === 0 ? 'Use another package.' : `Name one of ${names.join(', ')}.`;
  return new LongreinError('MCP_BIN_MISSING', message, { fix });
}

function variableMissing(server: string, name: string): LongreinError {
  return new LongreinError('MCP_ENV_MISSING', `the variable ${name} is not set`, {
    fix: `Set ${name}, or take it out of \`env\` of the MCP server ${server}.`,
  });
}
