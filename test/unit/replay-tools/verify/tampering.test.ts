import { beforeAll, expect, test } from 'vitest';
import type { SessionSource, SourceRecord } from '../../../../replay-tools/read/source.ts';
import type { Difference } from '../../../../replay-tools/verify/report.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import { canonical, sha256 } from '../../../../services/chassis/protocol/hash.ts';
import type {
  CheckpointBody,
  InputBody,
  TurnBody,
} from '../../../../services/chassis/protocol/record.ts';
import { recordHash, saltOf, sealContent } from '../../../../services/chassis/protocol/seal.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { type RecordedWorld, recordWorld } from '../../../support/recorded-world.ts';
import { recordsOf, sourceFromWorld, withRecords } from '../../../support/world-session.ts';

/** Records that were changed after they were written. */

let recorded: RecordedWorld;
let late: SessionSource;
let asked: SessionSource;

beforeAll(async () => {
  recorded = await recordWorld();
  late = await sourceFromWorld(recorded.world, recorded.goals.late.session);
  asked = await sourceFromWorld(recorded.world, recorded.goals.asked.session);
});

type Change = (record: SourceRecord) => SourceRecord | undefined;

/** Changes the first record with this event type, and says what verify finds first. */
async function found(
  source: SessionSource,
  type: string,
  change: Change,
): Promise<Difference | undefined> {
  const records = await recordsOf(source);
  const at = records.findIndex(({ header }) => header.types.includes(type));
  expect(at).toBeGreaterThanOrEqual(0);
  const changed = records.flatMap((record, index) =>
    index === at ? (change(record) ?? []) : record,
  );
  const report = await verifySession(withRecords(source, changed));
  expect(report.identical).toBe(report.differences.length === 0);
  const [first] = report.differences;
  if (first !== undefined) expect(first.offset).toBe(records[at]?.offset);
  return first;
}

const turn = (record: SourceRecord): TurnBody => record.body as TurnBody;
const input = (record: SourceRecord): InputBody => record.body as InputBody;

const withData = (record: SourceRecord, index: number, data: object): SourceRecord => {
  const body = turn(record);
  const events = body.events.map((event, at) =>
    at === index ? { ...event, data: { ...event.data, ...data } } : event,
  );
  return { ...record, body: { ...body, events } };
};

test('data of a turn', async () => {
  const first = await found(late, 'task.scheduled', (record) =>
    withData(record, 0, { priority: 9 }),
  );
  expect(first).toMatchObject({ kind: 'record-id', service: 'supervisor' });
});

test('facts of a turn', async () => {
  const first = await found(late, 'task.scheduled', (record) => {
    const body = turn(record);
    const facts = { ...body.facts, data: { ...body.facts.data, nowMs: body.facts.data.nowMs + 1 } };
    return { ...record, body: { ...body, facts } };
  });
  expect(first).toMatchObject({ kind: 'record-id', service: 'supervisor' });
});

test('a content of an event, found by its digest', async () => {
  const first = await found(asked, 'task.completed', (record) => {
    const body = turn(record);
    const events = body.events.map((event) => {
      const output = event.content?.['output'];
      if (output === undefined) return event;
      return { ...event, content: { output: { ...output, body: 'Something else.' } } };
    });
    return { ...record, body: { ...body, events } };
  });
  expect(first).toMatchObject({ kind: 'content', eventIndex: 0, eventType: 'task.completed' });
  expect(first?.changes[0]?.pointer).toBe('/events/0/content/output/digest');
  expect(first?.message).toContain(first?.changes[0]?.expected);
});

test('a content of an input, found by its digest', async () => {
  const first = await found(asked, 'model.completed', (record) => {
    const body = input(record);
    const message = { ...body.event.content?.['message'], body: { text: '', toolCalls: [] } };
    return {
      ...record,
      body: { ...body, event: { ...body.event, content: { message } as never } },
    };
  });
  expect(first).toMatchObject({
    kind: 'content',
    service: 'model-gateway',
    eventType: 'model.completed',
  });
});

test('the call of an outcome', async () => {
  const first = await found(asked, 'tool.completed', (record) => ({
    ...record,
    header: { ...record.header, id: `inp_${'0'.repeat(32)}` },
  }));
  expect(first).toMatchObject({ kind: 'input-id', eventType: 'tool.completed' });
});

test('the due time of a timer', async () => {
  const first = await found(late, 'timer.fired', (record) => {
    const body = input(record);
    const data = { ...body.event.data, dueAtMs: Number(body.event.data['dueAtMs']) - 1 };
    return { ...record, body: { ...body, event: { ...body.event, data } } };
  });
  expect(first).toMatchObject({ kind: 'timer', eventType: 'timer.fired' });
});

test('headers that say something else than the body', async () => {
  const first = await found(late, 'plan.accepted', (record) => ({
    ...record,
    header: { ...record.header, behaviour: 2 },
  }));
  expect(first).toMatchObject({ kind: 'header', service: 'planner' });
  expect(first?.changes).toEqual([{ pointer: '/behaviour', expected: '2', actual: '1' }]);
});

test('the data of an input, where something was decided from it', async () => {
  const source = await sourceFromWorld(recorded.world, recorded.goals.denied.session);
  const records = (await recordsOf(source)).map((record) => {
    if (!record.header.types.includes('session.opened')) return record;
    const body = input(record);
    const event = { ...body.event, data: { ...body.event.data, riskMax: 'low' } };
    return { ...record, body: { ...body, event } };
  });
  const report = await verifySession(withRecords(source, records));
  expect(report.differences[0]).toMatchObject({ kind: 'decision', service: 'planner' });
});

test('a record that is taken away leaves others without their base', async () => {
  const records = await recordsOf(late);
  const opened = records.findIndex(({ header }) => header.types.includes('timer.fired'));
  const without = records.filter((_record, index) => index !== opened);
  const report = await verifySession(withRecords(late, without));
  expect(report.identical).toBe(false);
  // Turns that foresaw it are void with it; the first that names one of them as its base tells.
  expect(report.differences[0]).toMatchObject({ kind: 'base' });
});

/** A record with the id that its changed body would have: somebody who knows the rules. */
const resigned = (record: SourceRecord, body: TurnBody | CheckpointBody): SourceRecord => {
  const prefix = body.kind === 'turn' ? 'trn' : 'ckp';
  const id = `${prefix}_${recordHash(body).slice(0, 32)}`;
  return { ...record, body, header: { ...record.header, id } };
};

test('a turn that was made anew with a right id: it is not what its service decides', async () => {
  const first = await found(late, 'task.scheduled', (record) => {
    const changed = withData(record, 0, { priority: 9 });
    return resigned(changed, turn(changed));
  });
  expect(first).toMatchObject({ kind: 'decision', eventIndex: 0, eventType: 'task.scheduled' });
  expect(first?.changes).toEqual([
    { pointer: '/events/0/data/priority', expected: '9', actual: '0' },
  ]);
});

test('a cause that was none', async () => {
  const first = await found(late, 'task.scheduled', (record) => {
    const body = { ...turn(record), causes: [{ record: 'trn_of-another', index: 0 }] };
    return resigned(record, body);
  });
  expect(first).toMatchObject({ kind: 'cause', service: 'supervisor' });
});

test('checkpoints: a wrong hash, and a right one over a state that never was', async () => {
  const world = await MemoryWorld.start();
  const { session } = world.publishGoal({
    goal: 'Wait.',
    plan: 'count',
    inputs: { counter: 'c', waitMs: 60_000 },
  });
  await world.clock.run(500);
  await world.stopHost('host-1');
  const source = await sourceFromWorld(world, session);
  expect((await verifySession(source)).identical).toBe(true);
  const findWith = async (change: (body: CheckpointBody) => CheckpointBody) => {
    const records = (await recordsOf(source)).map((record) => {
      if (record.header.kind !== 'checkpoint' || record.header.service !== 'supervisor')
        return record;
      return resigned(record, change(record.body as CheckpointBody));
    });
    return (await verifySession(withRecords(source, records))).differences[0];
  };
  const hash = await findWith((body) => ({ ...body, stateHash: '0'.repeat(64) }));
  expect(hash).toMatchObject({ kind: 'checkpoint', service: 'supervisor' });
  const state = await findWith((body) => {
    const saved = body.state.body as { state: object };
    const forged = { ...saved, state: { ...saved.state, plan: 'another' } };
    const sealed = sealContent(saltOf(session), { mediaType: 'application/json', body: forged });
    return { ...body, stateHash: sha256(canonical(forged)), state: sealed };
  });
  expect(state).toMatchObject({ kind: 'checkpoint', service: 'supervisor' });
  expect(state?.changes).toEqual([
    { pointer: '/state/plan', expected: '"another"', actual: '"count"' },
  ]);
});
