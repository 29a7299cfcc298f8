import { expect, test } from 'vitest';
import { goalsTopic } from '../../../../../../schemas/topics.ts';
import { MemoryCluster } from '../../../../../../services/chassis/log/memory/memory-cluster.ts';
import type { Letter } from '../../../../../../services/console/cli/dead-letters/letter.ts';
import { withOriginal } from '../../../../../../services/console/cli/dead-letters/original.ts';
import { retryOf } from '../../../../../../services/console/cli/dead-letters/retry.ts';

const letterAt = (offset: number, more: Partial<Letter> = {}): Letter => ({
  ...{ id: 'msg_0123456789abcdef', state: 'open', acts: [], recordKey: 'k', at: '', goalId: 'g7' },
  reason: { code: 'INPUT_TOO_LARGE', message: 'x' },
  origin: { topic: goalsTopic, partition: 1, offset },
  ...more,
});

async function goalsLog() {
  const cluster = new MemoryCluster();
  cluster.topics.ensure([{ name: goalsTopic, partitions: 2, config: {} }]);
  const log = cluster.connect('cli');
  const texts = ['{"goal":"no","id":"g6"}', '{"goal":"go","id":"g7"}', '{"goal":"no","id":"g8"}'];
  const records = texts.map((text) => ({ key: 'k', headers: {}, value: Buffer.from(text) }));
  await log.append({ topic: goalsTopic, partition: 1 }, records);
  return { cluster, log };
}

test('a goal that its log did not take is published again, from the record that the letter names', async () => {
  const { log } = await goalsLog();
  expect(retryOf(letterAt(1))).toMatchObject({ as: 'none' });
  expect(retryOf(await withOriginal(log, letterAt(1)))).toEqual({
    ...{ as: 'goal', goalId: 'g7-retry-89abcdef' },
    body: { goal: 'go', id: 'g7-retry-89abcdef' },
  });
});

test('one that the topic does not hold any more is not', async () => {
  const { cluster, log } = await goalsLog();
  cluster.topics.partition({ topic: goalsTopic, partition: 1 })?.trim(2);
  for (const offset of [1, 3])
    expect(retryOf(await withOriginal(log, letterAt(offset)))).toMatchObject({ as: 'none' });
});

test('a letter with its own bytes, and one of another topic, stay as they are', async () => {
  const { log } = await goalsLog();
  const origin = { topic: 'longrein.sessions.normal', partition: 1, offset: 1 };
  for (const letter of [letterAt(1, { original: 'eA==' }), letterAt(1, { origin })])
    expect(await withOriginal(log, letter)).toBe(letter);
});
