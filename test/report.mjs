// What vitest's JSON reports say at the end of `npm test`: counts, where the time went, and what failed. Plain JavaScript:
// it runs before anything is built.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const slowestShown = 10;
/** Enough for the assertion, its difference and its place. */
const linesOfFailure = 24;

/** @returns the report of a lane, or nothing where vitest died before it could write one. */
export function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** A file that could not even be loaded has no tests that could fail. */
const isBroken = ({ status, assertionResults }) =>
  status === 'failed' && !assertionResults.some((one) => one.status === 'failed');

/** A lane without a report counts as one failure. */
export function countsOf(report) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = report;
  return {
    passed: numPassedTests,
    failed: numFailedTests + testResults.filter(isBroken).length,
    skipped: numPendingTests + numTodoTests,
  };
}

/** Where the time went: a line for each of the files that took longest. */
export function slowest(reports, root) {
  const files = reports.flatMap((report) => report?.testResults ?? []);
  const timed = files.map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime }));
  return timed
    .sort((left, right) => right.ms - left.ms)
    .slice(0, slowestShown)
    .map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${relative(root, name)}`);
}

function said(title, message) {
  const lines = stripVTControlCharacters(message ?? '').split('\n');
  const left = lines.length - linesOfFailure;
  const shown = lines.slice(0, linesOfFailure).map((line) => `    ${line}`);
  return [`FAILED ${title}`, ...shown, ...(left > 0 ? [`    … ${left} lines more above`] : [])];
}

function failuresOfFile(file, root) {
  const path = relative(root, file.name);
  if (isBroken(file)) return said(path, file.message);
  return file.assertionResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ fullName, failureMessages }) =>
      said(`${path} > ${fullName}`, failureMessages.join('\n')),
    );
}

/**
 * What failed, once more at the end: whoever keeps only the last lines of a run has them.
 *
 * @param reports lane -> its report, or nothing
 * @returns lines, none where all passed
 */
export function failures(reports, root) {
  return Object.entries(reports).flatMap(([lane, report]) =>
    report === undefined
      ? said(`lane ${lane}`, 'It ended without a report: see what it printed above.')
      : report.testResults.flatMap((file) => failuresOfFile(file, root)),
  );
}
