import { expect, test } from 'vitest';
import { limits } from '../../../../schemas/limits.ts';
import { goalsTopic, keysTopic } from '../../../../schemas/topics.ts';
import type { Host } from '../../../../services/chassis/host/host.ts';
import type { PartitionName } from '../../../../services/chassis/log/port.ts';
import type { InputBody } from '../../../../services/chassis/protocol/record.ts';
import { GoalIngest } from '../../../../services/intake/ingest.ts';
import { catalog, echo, goalRecord } from '../../../support/goal-record.ts';
import { quietPorts } from '../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../support/scripted-log.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const at: PartitionName = { topic: goalsTopic, partition: 0 };

/** A host that keeps what it is asked to append; the test says when the broker has it. */
class KeepingHost {
  readonly appended: { topic: string; id: string; body: InputBody; done: () => void }[] = [];
  readonly marks: number[] = [];
  mark: number | undefined;

  appendInput(topic: string, input: { id: string; body: InputBody }, done: () => void): void {
    this.appended.push({ topic, ...input, done });
  }

  async externalMark(): Promise<number | undefined> {
    return this.mark;
  }

  async writeExternalMark(_name: string, _at: PartitionName, offset: number): Promise<void> {
    this.marks.push(offset);
  }
}

async function bench() {
  const log = new ScriptedLog();
  const clock = new VirtualClock();
  const host = new KeepingHost();
  const fatal: Error[] = [];
  const ingest = new GoalIngest({
    ports: quietPorts(log, clock),
    catalog,
    laneOf: (priority) => priority,
    housekeepingMs: 1_000,
    onFatal: (error) => fatal.push(error),
  });
  await ingest.start(host as unknown as Host);
  log.assign([at]);
  await settled();
  const deliver = (from: number, count: number, changes: { timestampMs?: number } = {}): void => {
    const records = Array.from({ length: count }, (_, index) =>
      goalRecord(
        { ...echo, id: `goal-${from + index}` },
        { ...at, offset: from + index, ...changes },
      ),
    );
    log.deliver(at, records);
  };
  return { log, clock, host, ingest, deliver };
}

test('each goal becomes the opening of its own goal log', async () => {
  const { host, deliver } = await bench();
  deliver(0, 2);
  expect(host.appended.map(({ topic, body }) => [topic, body.event.type])).toEqual([
    [keysTopic, 'goal.received'],
    [keysTopic, 'goal.received'],
  ]);
  expect(new Set(host.appended.map(({ body }) => body.session)).size).toBe(2);
});

test('the position moves past a record only when the broker has its input, and all before it', async () => {
  const { clock, host, deliver } = await bench();
  deliver(0, 3);
  await clock.run(1_000);
  host.appended[2]?.done();
  await clock.run(1_000);
  host.appended[0]?.done();
  await clock.run(1_000);
  host.appended[1]?.done();
  await clock.run(3_000);
  expect(host.marks).toEqual([0, 1, 3]);
});

test('of a backlog only so much is read as is being written: the rest waits in the topic', async () => {
  const { log, host, deliver } = await bench();
  const max = limits.goalsWritingMax;
  deliver(0, max - 1);
  expect(log.flow).toEqual([]);
  deliver(max - 1, 1);
  expect(log.flow).toEqual(['pause']);
  for (const { done } of host.appended.slice(0, max / 2)) done();
  expect(log.flow).toEqual(['pause']);
  host.appended[max / 2]?.done();
  expect(log.flow).toEqual(['pause', 'resume']);
  deliver(max, max / 2 + 1);
  expect(log.flow).toEqual(['pause', 'resume', 'pause']);
});

test('a few large goals fill it too', async () => {
  const { log, host } = await bench();
  const large = JSON.stringify({ ...echo, id: 'large', inputs: { said: 'x'.repeat(400_000) } });
  const count = Math.ceil(limits.goalsWritingBytesMax / large.length);
  log.deliver(
    at,
    Array.from({ length: count }, (_, offset) => goalRecord(large, { ...at, offset })),
  );
  expect(log.flow).toEqual(['pause']);
  for (const { done } of host.appended) done();
  expect(log.flow).toEqual(['pause', 'resume']);
});

test('the last position is written when it stops', async () => {
  const { host, ingest, deliver } = await bench();
  deliver(0, 1);
  host.appended[0]?.done();
  await ingest.stop();
  expect(host.marks).toEqual([1]);
});

test('a producer whose clock is fast, or has none, gives no goal a time that cannot be', async () => {
  const { clock, host, deliver } = await bench();
  deliver(0, 1, { timestampMs: clock.nowMs() + 86_400_000 });
  deliver(1, 1, { timestampMs: -1 });
  deliver(2, 1, { timestampMs: 5 });
  const times = host.appended.map(({ body }) => body.atMs);
  expect(times).toEqual([clock.nowMs(), clock.nowMs(), 5]);
  const received = host.appended.map(({ body }) => body.event.data['receivedAtMs']);
  expect(received).toEqual(times);
});

test('what cannot be read passes too, and stops nothing', async () => {
  const { log, host } = await bench();
  const context = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const values = ['{', null, `{"goal":"x","plan":"echo","context":${context}}`, '[]'];
  log.deliver(
    at,
    values.map((value, offset) => goalRecord(value, { ...at, offset })),
  );
  expect(host.appended.map(({ body }) => body.event.data['problem'])).toEqual([
    { code: 'GOAL_NOT_JSON' },
    { code: 'GOAL_EMPTY' },
    { code: 'GOAL_TOO_DEEP' },
    { code: 'GOAL_NOT_OBJECT' },
  ]);
});

test('a partition that was taken away is read no more', async () => {
  const { log, host, deliver } = await bench();
  log.assign([]);
  await settled();
  deliver(0, 1);
  expect(host.appended).toEqual([]);
});
