import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { launchOf } from '../../../../../services/tool-runner/mcp/launch.ts';

const server = { name: 'files', args: [], env: [], startTimeoutMs: 1_000, trusted: false };
const around = { environment: { PATH: '/bin', OTHER: 'hidden' }, workspace: '/data/$& here' };
const files = { package: '@modelcontextprotocol/server-filesystem', bin: 'mcp-server-filesystem' };

describe('how an MCP server is started', () => {
  it('a program of a package runs under this Node, by its file', () => {
    const launch = launchOf({ ...server, ...files, args: ['--x'] }, around);
    expect(launch.command).toBe(process.execPath);
    expect(existsSync(launch.args[0] ?? '')).toBe(true);
    expect(launch.args.slice(1)).toEqual(['--x']);
  });

  it('the workspace is put into arguments and directory as it is', () => {
    const mark = ['$', '{workspace}'].join('');
    const marks = { args: [`${mark}/a`, 'b'], cwd: mark };
    const launch = launchOf({ ...server, command: 'serve', ...marks }, around);
    expect(launch).toMatchObject({ args: ['/data/$& here/a', 'b'], cwd: '/data/$& here' });
  });

  it('it sees a few common variables and those that it names, no others', () => {
    const environment = { ...around.environment, TOKEN: 'secret' };
    const config = { ...server, command: 'serve', env: ['TOKEN'] };
    const launch = launchOf(config, { ...around, environment });
    expect(launch.env).toEqual({ PATH: '/bin', TOKEN: 'secret' });
  });

  it('a variable, package or program that is missing is named, with what to do', () => {
    const named = (code: string) => expect.objectContaining({ code, fix: expect.any(String) });
    const without = { ...server, command: 'serve', env: ['TOKEN'] };
    expect(() => launchOf(without, around)).toThrow(named('MCP_ENV_MISSING'));
    const package_ = { ...server, package: '@no/such-package', bin: 'x' };
    expect(() => launchOf(package_, around)).toThrow(named('MCP_PACKAGE_MISSING'));
    const bin = { ...server, ...files, bin: 'x' };
    expect(() => launchOf(bin, around)).toThrow(named('MCP_BIN_MISSING'));
    expect(() => launchOf(bin, around)).toThrow(/no program x/);
  });
});
