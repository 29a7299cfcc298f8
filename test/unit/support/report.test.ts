import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';

const dir = mkdtempSync(join(tmpdir(), 'longrein-report-'));
afterAll(() => rmSync(dir, { recursive: true }));
const part = pathToFileURL(join(packageRoot, 'test/report.mjs')).href;

/** The part is plain JavaScript without types: what it prints is read. */
function ask(expression: string, report: unknown): unknown {
  const file = join(dir, 'lane.json');
  writeFileSync(file, JSON.stringify(report));
  const code = `import * as report from ${JSON.stringify(part)};
    const lane = report.readReport(${JSON.stringify(file)});
    console.log(JSON.stringify(${expression}));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '--eval', code]);
  return JSON.parse(run.stdout.toString());
}

const test = (status: string, message?: string): unknown => ({
  fullName: `answers ${status}`,
  status,
  failureMessages: message === undefined ? [] : [message],
});

const file = (status: string, tests: readonly unknown[], message = ''): unknown => ({
  name: '/house/test/unit/a.test.ts',
  status,
  message,
  assertionResults: tests,
});

const reportOf = (files: readonly unknown[], failed: number): unknown => ({
  numPassedTests: 1,
  numFailedTests: failed,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: files,
});

it('says a failure with its file, its name and what was expected, without colours', () => {
  const message = '\u001b[31mexpected 1 to be 2\u001b[39m\n    at a.test.ts:3';
  const lane = reportOf([file('failed', [test('passed'), test('failed', message)])], 1);
  expect(ask("report.failures({ unit: lane }, '/house')", lane)).toEqual([
    'FAILED test/unit/a.test.ts > answers failed',
    '    expected 1 to be 2',
    '        at a.test.ts:3',
  ]);
  expect(ask('report.countsOf(lane)', lane)).toEqual({ passed: 1, failed: 1, skipped: 0 });
});

it('counts a file whose tests all passed and that failed all the same, in a hook or in loading', () => {
  const lane = reportOf([file('failed', [test('passed')], 'a hook timed out')], 0);
  expect(ask("report.failures({ unit: lane }, '/house')", lane)).toEqual([
    'FAILED test/unit/a.test.ts',
    '    a hook timed out',
  ]);
  expect(ask('report.countsOf(lane)', lane)).toMatchObject({ failed: 1 });
});

it('counts a lane that left no report as a failure, and says nothing of one that passed', () => {
  const lane = reportOf([file('passed', [test('passed')])], 0);
  expect(ask("report.failures({ unit: lane, own: undefined }, '/house')", lane)).toEqual([
    'FAILED lane own',
    '    It ended without a report: see what it printed above.',
  ]);
  expect(ask('report.countsOf(undefined)', lane)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

it('shortens what is long', () => {
  const lane = reportOf([file('failed', [test('failed', 'word\n'.repeat(100))])], 1);
  const lines = ask("report.failures({ unit: lane }, '/house')", lane) as string[];
  expect(lines).toHaveLength(26);
  expect(lines.at(-1)).toBe('    … 77 lines more above');
});
