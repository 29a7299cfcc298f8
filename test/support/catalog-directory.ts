/** A catalog directory in a temporary place, from texts of files; removed when the test ends. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Writes `files` (path in the directory to text) and gives the directory. */
export function catalogDirectory(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'longrein-catalog-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

/** Files of a small catalog without problems: one plan of two tasks, two agents, two tools. */
export const soundFiles: Readonly<Record<string, string>> = {
  'pools.yaml': '- name: work\n  description: Works.\n',
  'models.yaml': 'writer: scripted/writer\n',
  'mcp-servers.yaml': [
    'files:',
    "  package: '@scope/server'",
    '  bin: server',
    `  args: ['\${workspace}', '--root=\${workspace}/sub']`,
    `  cwd: \${workspace}`,
    '  env: [HOME]',
    '',
  ].join('\n'),
  'tools/echo.yaml': [
    'name: echo',
    'version: 1.0.0',
    'description: Echoes.',
    'category: test',
    'risk: low',
    'sideEffects: none',
    'runner: { kind: builtin, name: echo }',
    'roles: [tester]',
    'inputSchema: { type: object }',
    '',
  ].join('\n'),
  'tools/read.yaml': [
    'name: read',
    'version: 1.0.0',
    'description: Reads.',
    'category: test',
    'risk: low',
    'sideEffects: write',
    'runner: { kind: mcp, server: files, tool: read_text_file }',
    'roles: [tester]',
    'inputSchema:',
    '  type: object',
    '  properties: { path: { type: string } }',
    '',
  ].join('\n'),
  'agents/worker.yaml': [
    'kind: procedure',
    'name: worker',
    'version: 1.0.0',
    'description: Works.',
    'role: tester',
    'tools: [echo, read]',
    'steps:',
    '  - id: first',
    '    tool: echo',
    '    arguments: { said: =input.said }',
    '  - id: second',
    '    tool: read',
    '    when: =steps.first.said = "go"',
    '    arguments:',
    '      path: =input.path',
    'output: =steps.first',
    '',
  ].join('\n'),
  'agents/writer.yaml': [
    'kind: model',
    'name: writer',
    'version: 1.0.0',
    'description: Writes.',
    'role: tester',
    'model: writer',
    "prompt: '=$string(input)'",
    '',
  ].join('\n'),
  'plans/pair.yaml': [
    'name: pair',
    'version: 1.0.0',
    'description: Two tasks.',
    'inputs:',
    '  path: { type: string, description: The file. }',
    '  depth: { type: number, default: 2 }',
    '  deep: { type: boolean, required: false }',
    'tasks:',
    '  - id: one',
    '    pool: work',
    '    agent: worker',
    '    input: { path: =inputs.path }',
    '  - id: two',
    '    pool: work',
    '    agent: writer',
    '    needs: [one]',
    'output:',
    '  kind: collect',
    '  tasks: [two]',
    '  shape: =tasks.two',
    '',
  ].join('\n'),
};
