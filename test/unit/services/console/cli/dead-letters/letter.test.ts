import { expect, test } from 'vitest';
import type { LogRecord } from '../../../../../../services/chassis/log/port.ts';
import { deadLetterType } from '../../../../../../services/chassis/protocol/dead-letter.ts';
import { actType, lettersIn } from '../../../../../../services/console/cli/dead-letters/letter.ts';
import { letterNamed } from '../../../../../../services/console/cli/dead-letters/topic.ts';

const origin = { topic: 'longrein.goals', partition: 0, offset: 4 };

function record(offset: number, id: string, type: string, value: object): LogRecord {
  return {
    ...{ topic: 'longrein.dead-letters', partition: 0, offset, key: 'k', timestampMs: 0 },
    headers: { ce_id: id, ce_type: type },
    value: Buffer.from(JSON.stringify(value)),
  };
}

const letter = (offset: number, id: string, at: string): LogRecord =>
  record(offset, id, deadLetterType, { reason: { code: 'X', message: 'x' }, origin, at });

const act = (offset: number, of: string, what: string): LogRecord =>
  record(offset, `act_${offset}`, actType, {
    ...{ letter: of, act: what, by: 'ada', reason: 'seen', at: '2026-01-02T00:00:00.000Z' },
  });

test('a letter that was written twice is one, and what was done with it is its state', () => {
  const found = lettersIn([
    letter(0, 'msg_b1', '2026-01-01T00:00:02.000Z'),
    letter(1, 'msg_a1', '2026-01-01T00:00:01.000Z'),
    letter(2, 'msg_b1', '2026-01-01T00:00:02.000Z'),
    act(3, 'msg_b1', 'retried'),
  ]);
  expect(found.map(({ id, state }) => [id, state])).toEqual([
    ['msg_a1', 'open'],
    ['msg_b1', 'retried'],
  ]);
  expect(found[1]?.acts).toMatchObject([{ by: 'ada', reason: 'seen' }]);
});

test('what is neither a letter nor an act is passed over', () => {
  const strange = { ...letter(0, 'msg_a', ''), value: Buffer.from('who are you?') };
  const shapeless = record(1, 'msg_c', deadLetterType, { reason: 'none' });
  expect(lettersIn([strange, shapeless, { ...strange, value: null }])).toEqual([]);
});

test('a letter is named by the start of its id; a wrong name gets the nearest, a short one all that it means', () => {
  const letters = lettersIn([letter(0, 'msg_abc1', '1'), letter(1, 'msg_abd2', '2')]);
  expect(letterNamed(letters, 'msg_abc').id).toBe('msg_abc1');
  expect(letterNamed(letters, 'abd').id).toBe('msg_abd2');
  expect(() => letterNamed(letters, 'msg_ab')).toThrow('begins 2 dead letters');
  try {
    letterNamed(letters, 'msg_abc2');
    expect.unreachable();
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'USAGE', fix: expect.stringContaining('msg_ab') });
  }
});
