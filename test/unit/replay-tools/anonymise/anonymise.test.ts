import { beforeAll, expect, test } from 'vitest';
import { anonymised } from '../../../../replay-tools/anonymise/anonymise.ts';
import { contextsOf } from '../../../../replay-tools/context/context.ts';
import { exportLines } from '../../../../replay-tools/export/export.ts';
import { firstFailureOf } from '../../../../replay-tools/first-failure/first-failure.ts';
import { parseExport } from '../../../../replay-tools/read/file.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import type { SessionSource } from '../../../../replay-tools/read/source.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import { type RecordedWorld, recordWorld, type Scenario } from '../../../support/recorded-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

let recorded: RecordedWorld;

beforeAll(async () => {
  recorded = await recordWorld();
});

const sourceOf = (name: Scenario): Promise<SessionSource> =>
  sourceFromWorld(recorded.world, recorded.goals[name].session);

async function textOf(source: SessionSource): Promise<string> {
  let text = '';
  for await (const line of exportLines(source, { release: '0.0.0-world' })) text += line;
  return text;
}

const scenarios: readonly Scenario[] = ['asked', 'failing', 'cancelled', 'late', 'denied', 'keyed'];

test.each(scenarios)('%s is judged as before, and every hash is right', async (name) => {
  const source = await sourceOf(name);
  const before = await judgeSession(source);
  const other = await parseExport([await textOf(await anonymised(source, 'a key'))], 'other');
  const after = await judgeSession(other);
  const facts = ({ records }: typeof before) =>
    records.map(({ verdict, ignored, step, record }) => {
      const events = step?.events.map(({ type, index, atMs }) => [type, index, atMs]);
      return [verdict, ignored, record.offset, events];
    });
  expect(facts(after)).toEqual(facts(before));
  expect(after.source.session).not.toBe(before.source.session);
  const report = await verifySession(other);
  expect(report).toMatchObject({ identical: true, complete: false });
  expect(report.counts.decisions).toBe(0);
  expect(report.hashed[0]?.because).toContain('anonymised');
});

test('nothing that people, models or tools wrote is left', async () => {
  for (const name of ['asked', 'failing', 'denied'] as const) {
    const text = await textOf(await anonymised(await sourceOf(name), 'a key'));
    for (const word of [
      'acme',
      'hello',
      'Nothing much',
      'No never',
      'Not A Name',
      'asker',
      'flaky',
      'echo',
    ])
      expect(text.toLowerCase().includes(word.toLowerCase()), `${name}: ${word}`).toBe(false);
    for (const { session, goalId } of Object.values(recorded.goals)) {
      expect(text.includes(session)).toBe(false);
      if (goalId.length > 6) expect(text.includes(`"${goalId}"`)).toBe(false);
    }
  }
});

test('the same name is the same one everywhere, and what is told by structure is as before', async () => {
  const source = await sourceOf('failing');
  const before = new History(await judgeSession(source));
  const after = new History(await judgeSession(await anonymised(source, 'a key')));
  expect(firstFailureOf(after).first.place).toBe(firstFailureOf(before).first.place);
  const tasks = new Set(after.entries.flatMap(({ scope }) => scope.task ?? []));
  expect(tasks.size).toBe(new Set(before.entries.flatMap(({ scope }) => scope.task ?? [])).size);
  const asked = new History(await judgeSession(await anonymised(await sourceOf('asked'), 'a key')));
  expect(contextsOf(asked)[0]?.messages.map(({ role }) => role)).toEqual([
    ...['system', 'user', 'assistant', 'tool', 'assistant', 'tool'],
  ]);
});

test('another key gives other names; the same key the same', async () => {
  const source = await sourceOf('simple');
  const [one, same, other] = [
    await textOf(await anonymised(source, 'a')),
    await textOf(await anonymised(source, 'a')),
    await textOf(await anonymised(source, 'b')),
  ];
  expect(same === one).toBe(true);
  expect(other === one).toBe(false);
});

test('a file that was changed after it was anonymised is found', async () => {
  const text = await textOf(await anonymised(await sourceOf('simple'), 'a key'));
  const read = parseExport([text.replace('"attempt":1', '"attempt":2')], 'other.jsonl');
  await expect(read).rejects.toMatchObject({ code: 'EXPORT_CORRUPT' });
});
