import { beforeAll, expect, test } from 'vitest';
import { showSession } from '../../../../replay-tools/show/timeline.ts';
import { type RecordedWorld, recordWorld, type Scenario } from '../../../support/recorded-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

let recorded: RecordedWorld;

beforeAll(async () => {
  recorded = await recordWorld();
});

async function shown(name: Scenario, options: Parameters<typeof showSession>[1] = {}) {
  const { world, goals } = recorded;
  const text = await showSession(await sourceFromWorld(world, goals[name].session), options);
  return { text, lines: text.trimEnd().split('\n') };
}

const lineOf = (lines: readonly string[], type: string): string =>
  lines.find((line) => line.includes(` ${type} `)) ?? '';

test('the head says what was asked, for whom, how it ended and what it took', async () => {
  const { lines } = await shown('asked');
  const head = lines.slice(0, lines.indexOf(''));
  expect(head[0]).toMatch(/^Session {2}ses_[0-9a-f]{32}, completed$/);
  expect(head.slice(1, 4)).toEqual([
    'Goal     Ask.',
    'Owner    tenant acme',
    'Plan     ask 1.0.0, 1 task',
  ]);
  expect(head[4]).toMatch(/^Time {5}opened \S+Z, ended \S+Z \(\d+\.\d{3} s\)$/);
  expect(head[5]).toMatch(
    /^Usage {4}4 model calls \(\d+ tokens in, \d+ out, \$0\.\d+\), 1 tool call$/,
  );
});

test('each event is one line: place, time since the opening, service, type, what matters', async () => {
  const { lines } = await shown('asked');
  expect(lineOf(lines, 'session.opened')).toMatch(
    /^ {3}\s*\d+\.0 +\+0\.000 s {2}intake +session\.opened +plan ask: goal Ask\./,
  );
  expect(lineOf(lines, 'model.completed')).toMatch(
    /model-gateway +model\.completed +scripted\/tester, call_[0-9a-f]{8}, tool-calls, 20 ms, 40 in, \d+ out, \$0\.0/,
  );
  expect(lineOf(lines, 'tool.claimed')).toMatch(
    /test\.echo, call_[0-9a-f]{8}, until \+\d+\.\d{3} s$/,
  );
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(400);
});

test('what went wrong begins with a mark, and says why', async () => {
  const { lines } = await shown('failing');
  expect(lineOf(lines, 'tool.failed')).toMatch(/^! .*TOOL_BROKE, tool-error.*No never today\./);
  expect(lineOf(lines, 'task.abandoned')).toMatch(/^! /);
  expect(lineOf(lines, 'task.scheduled')).toMatch(/^ {2}/);
  expect(lines.find((line) => line.startsWith('Error'))).toContain('TOOL_BROKE');
  const denied = await shown('denied');
  expect(lineOf(denied.lines, 'tool.denied')).toMatch(/^! .*check arguments: .*counter/);
});

test('long bodies are folded, and shown in full where asked for', async () => {
  const folded = await shown('asked');
  expect(folded.text).not.toContain('x'.repeat(100));
  const full = await shown('asked', { full: true });
  expect(full.text).toContain('x'.repeat(50_000));
  expect(full.text).toMatch(/\| result \(application\/json, 50\.0 kB, [0-9a-f]{12}\)/);
});

test('records without effect are counted, and shown with their reason where asked for', async () => {
  const { lines } = await shown('cancelled', { all: true });
  const quiet = lines.filter((line) => line.startsWith('-'));
  const { lines: without } = await shown('cancelled');
  expect(without.filter((line) => line.startsWith('-'))).toEqual([]);
  if (quiet.length > 0) expect(without.at(-1)).toMatch(/without effect not shown/);
});

test('colour is a palette of who shows it', async () => {
  const palette = {
    heading: (line: string) => `<h>${line}`,
    error: (line: string) => `<e>${line}`,
    quiet: (line: string) => `<q>${line}`,
  };
  const { lines } = await shown('failing', { palette });
  expect(lines[0]).toMatch(/^<h>Session/);
  expect(lineOf(lines, 'tool.failed')).toMatch(/^<e>! /);
});
