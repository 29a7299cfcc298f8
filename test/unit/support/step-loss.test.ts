import { expect, test } from 'vitest';
import { judgeSession } from '../../../replay-tools/read/session.ts';
import type { SourceRecord } from '../../../replay-tools/read/source.ts';
import { event } from '../../../schemas/event.ts';
import type { RecordBody } from '../../../services/chassis/protocol/record.ts';
import {
  claimed,
  completed,
  headerOf,
  session,
  skipped,
  unknown,
} from '../../support/placed-record.ts';
import { stepLossOf } from '../../support/step-loss.ts';
import {
  epochBody,
  inputBody,
  openingBody,
  turnBody,
  writer,
} from '../../support/written-session.ts';

/** What a log says of steps that a deploy cost. */

async function lossOf(bodies: readonly RecordBody[]) {
  const sequences = new Map<string, number>();
  const records = bodies.map((body, offset): SourceRecord => {
    const name = body.kind === 'turn' ? `${body.service} ${body.epoch}` : '';
    const sequence = (sequences.get(name) ?? 0) + 1;
    sequences.set(name, sequence);
    const id = `rec_${offset}`;
    return { offset, body, header: headerOf(id, body, name === '' ? undefined : sequence) };
  });
  const place = { session, topic: 't', partition: 0, origin: 'test', from: 0, whole: true };
  return stepLossOf(
    await judgeSession({
      ...{ ...place, acceptance: {} },
      async *records() {
        yield* records;
      },
    }),
  );
}

const start = [epochBody(), openingBody(session)];
const turn = (drafts: Parameters<typeof turnBody>[1], changes = {}) =>
  turnBody(session, drafts, changes);
const outcome = (claim: string) => inputBody(session, completed('c', claim));
const closed = turn([event('session.closed', {})]);
const next = { epoch: 2, incarnation: 'next' };
const takeover = epochBody({ number: next.epoch, incarnation: next.incarnation });

test('calls that ended, whatever runs beside them, are no loss', async () => {
  const loss = await lossOf([...start, turn([claimed('c')]), outcome('rec_2#0'), closed]);
  expect(loss).toEqual({ steps: 3, lost: [], repeated: [], decidedAgain: 0 });
});

test('a call that is claimed again without an outcome was repeated', async () => {
  const again = turn([claimed('c', 2)]);
  const loss = await lossOf([...start, turn([claimed('c')]), again, outcome('rec_3#0'), closed]);
  expect(loss).toMatchObject({ lost: [], repeated: ['call c'] });
});

test.each([
  ['declared unknown', [turn([unknown('c')])], 1],
  ['left open by a session that closed', [closed], 1],
  ['still running', [], 0],
])('a call that is %s is lost %i times', async (_what, rest, count) => {
  const { lost } = await lossOf([...start, turn([claimed('c')]), ...rest]);
  expect(lost).toHaveLength(count);
});

test('a decision that comes after a take-over is none if it is taken again, and lost if it is not', async () => {
  const late = turn([skipped('a')], { ...writer, baseOffset: 1 });
  const again = turn([skipped('a')], { ...next, baseOffset: 1 });
  expect(await lossOf([...start, takeover, late, again])).toMatchObject({
    lost: [],
    repeated: [],
    decidedAgain: 1,
  });
  expect(await lossOf([...start, takeover, late])).toMatchObject({
    lost: ['turn rec_3'],
    decidedAgain: 0,
  });
});
