import { beforeAll, expect, test } from 'vitest';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { showSession, timelineLines } from '../../../../replay-tools/show/timeline.ts';
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
  lines.slice(lines.indexOf('')).find((line) => line.includes(` ${type} `)) ?? '';

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
    /^ +\d+\.0 +\+0\.000 s {2}intake +session\.opened +plan ask: goal Ask\./,
  );
  expect(lineOf(lines, 'model.completed')).toMatch(
    /model-gateway +model\.completed +scripted\/tester, \$0\.0\d+, 40 in, \d+ out, 20 ms: test\.echo\(.*\(tool-calls, call_[0-9a-f]{8}\)$/,
  );
  expect(lineOf(lines, 'tool.claimed')).toMatch(
    /test\.echo, until \+\d+\.\d{3} s \(call_[0-9a-f]{8}\)$/,
  );
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(400);
});

test('what went wrong begins with a mark, and says why', async () => {
  const { lines } = await shown('failing');
  expect(lineOf(lines, 'tool.failed')).toMatch(
    /^! .*TOOL_BROKE, 1 ms: No never today\. \(tool-error, /,
  );
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

test('a failed session says in its head from where on it was lost', async () => {
  const { lines } = await shown('failing');
  const place = lineOf(lines.toReversed(), 'tool.failed');
  const wrong = lines.find((line) => line.startsWith('Wrong'));
  expect(wrong).toMatch(
    /^Wrong {4}from \d+\.0 tool\.failed on: task try had no further attempt after 3$/,
  );
  expect(place).not.toBe('');
  const { lines: well } = await shown('simple');
  expect(well.filter((line) => line.startsWith('Wrong'))).toEqual([]);
});

test('housekeeping is counted, and shown where asked for', async () => {
  const { text, lines } = await shown('simple');
  expect(text).not.toContain('timer.set');
  expect(lines.at(-1)).toMatch(/^Not shown, see them with --all: \d+ events of housekeeping/);
  expect((await shown('simple', { all: true })).text).toContain('timer.set');
});

test('on a terminal no line is wider than it, and what went wrong is broken instead of cut', async () => {
  for (const columns of [60, 80, 100]) {
    for (const name of ['failing', 'denied', 'asked'] as const) {
      const { lines } = await shown(name, { columns });
      expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(columns);
    }
  }
  const { text } = await shown('failing', { columns: 100 });
  expect(text.replaceAll(/\s+/g, ' ')).toContain('No never today.');
});

test('filters by service, task and kind; a word that fits nothing names what there is', async () => {
  const byService = await shown('failing', { services: ['worker-pool'] });
  const rows = byService.lines.slice(byService.lines.indexOf('') + 1);
  expect(rows.length).toBeGreaterThan(5);
  expect(rows.every((line) => line.includes('worker-pool:test'))).toBe(true);
  const byKind = await shown('failing', { kinds: ['tool.*'], tasks: ['try'] });
  const kinds = byKind.lines.slice(byKind.lines.indexOf('') + 1);
  expect(kinds.length).toBe(12);
  expect(kinds.every((line) => / tool\.[a-z]+ /.test(line))).toBe(true);
  const wrong = shown('failing', { tasks: ['tri'] });
  await expect(wrong).rejects.toMatchObject({ code: 'FILTER_EMPTY', fix: 'it has: try' });
});

test('as it stood after an event, which is shown in full', async () => {
  const { world, goals } = recorded;
  const judged = await judgeSession(await sourceFromWorld(world, goals.failing.session));
  const at = new History(judged).ofType('tool.failed')[0];
  if (at === undefined) throw new Error('no tool failed');
  const lines = timelineLines(judged, { at });
  expect(lines[0]).toMatch(/, running$/);
  const marked = lines.findIndex((line) => line.startsWith('> '));
  expect(lines[marked]).toContain('tool.failed');
  expect(lines[marked + 2]).toBe('    |   No never today.');
  expect(lines.filter((line) => line.includes('session.failed'))).toEqual([]);
  expect(lines.at(-1)).toMatch(/^\d+ events after it\.$/);
});
