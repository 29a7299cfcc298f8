/**
 * The files of a catalog directory: which there are, and their text. The only I/O of the catalog.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '../errors.ts';
import type { CatalogProblem } from './problem.ts';
import { readYaml, type YamlSource } from './yaml-source.ts';

/** Folders hold one definition a file; `scripts` are paths only, read by the scripted provider. */
export type CatalogFolder = 'plans' | 'agents' | 'tools' | 'scripts';
export type CatalogFile = 'pools' | 'mcp-servers' | 'models' | 'rules';

/** More is no definition: a mistake, or something that would not fit into a record. */
const fileBytesMax = 1_048_576;

/** Paths of the YAML files of a folder, by name; none if the folder is not there. */
export function filesOfFolder(directory: string, folder: CatalogFolder): string[] {
  const path = join(directory, folder);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(path)
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

/** The file of that name in `directory`; undefined if it is not there. */
export function fileOfDirectory(directory: string, file: CatalogFile): string | undefined {
  const names = [`${file}.yaml`, `${file}.yml`].map((name) => join(directory, name));
  return names.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

/** Why `directory` cannot be a catalog; nothing if it can. */
export function directoryProblems(directory: string): CatalogProblem[] {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return [];
  const fix = 'Check the path, or create it with folders plans, agents and tools.';
  return [problemOf(directory, 'There is no such directory.', fix)];
}

/** The YAML of the file at `path`; what cannot be read is a problem, not an error. */
export function readSource(path: string): YamlSource {
  try {
    const { size } = statSync(path);
    if (size <= fileBytesMax) return readYaml(path, readFileSync(path, 'utf8'));
    const reason = `The file has ${size} bytes; at most ${fileBytesMax} are read.`;
    return unread(problemOf(path, reason, 'Split it.'));
  } catch (thrown) {
    const reason = `The file cannot be read: ${toError(thrown).message}.`;
    return unread(problemOf(path, reason, 'Check its permissions.'));
  }
}

function problemOf(file: string, reason: string, fix: string): CatalogProblem {
  return { file, line: 1, column: 1, reason, fix };
}

function unread(problem: CatalogProblem): YamlSource {
  const problemAt: YamlSource['problemAt'] = ({ reason, fix }) => ({ ...problem, reason, fix });
  const { file } = problem;
  return { file, value: undefined, draft: undefined, problems: [problem], problemAt };
}
