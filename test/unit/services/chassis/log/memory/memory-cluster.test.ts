import { describe, expect, test } from 'vitest';
import { MemoryCluster } from '../../../../../../services/chassis/log/memory/memory-cluster.ts';
import type { AppendFault } from '../../../../../../services/chassis/log/memory/memory-network.ts';
import type { LogPort, OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';

const partition = { topic: 'topic', partition: 0 };
const spec = { name: 'topic', partitions: 4, config: {} };

/** Virtual time: runs what is due, in order of time and then of scheduling. */
function clock() {
  const due: { atMs: number; order: number; run: () => void }[] = [];
  let nowMs = 0;
  let order = 0;
  const scheduler = {
    schedule(delayMs: number, run: () => void): void {
      order += 1;
      due.push({ atMs: nowMs + delayMs, order, run });
    },
  };
  const runUntil = async (untilMs: number): Promise<void> => {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      due.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      const next = due[0];
      if (next === undefined || next.atMs > untilMs) break;
      due.shift();
      nowMs = next.atMs;
      next.run();
    }
    nowMs = untilMs;
  };
  return { scheduler, runUntil, nowMs: () => nowMs };
}

function record(text: string): OutgoingRecord {
  return { key: text, headers: {}, value: Buffer.from(text) };
}

async function setUp(fault: (key: string) => AppendFault = () => 'ok', crashNoticedMs = 0) {
  const time = clock();
  const faults = {
    append: (_: unknown, [first]: readonly OutgoingRecord[]) => fault(first?.key ?? ''),
  };
  const { scheduler, nowMs } = time;
  const cluster = new MemoryCluster({ scheduler, nowMs, faults, crashNoticedMs });
  const ready = cluster.connect('creator').ensureTopics([spec]);
  await time.runUntil(0);
  await ready;
  const keys = (): string[] => cluster.records(partition).map(({ key }) => key);
  return { cluster, keys, ...time };
}

function outcome(log: LogPort, key: string): { value: unknown } {
  const seen: { value: unknown } = { value: 'open' };
  log.append(partition, [record(key)]).then(
    ({ baseOffset }) => {
      seen.value = baseOffset;
    },
    (error: { failure: string }) => {
      seen.value = error.failure;
    },
  );
  return seen;
}

describe('MemoryCluster', () => {
  test('loses requests and answers, and refuses, as it is told', async () => {
    const { cluster, keys, runUntil } = await setUp((key) => key as AppendFault);
    const log = cluster.connect('program');
    const seen = (['ok', 'lost', 'lost-ack', 'refused'] as const).map((key) => outcome(log, key));
    await runUntil(1);
    expect(seen.map(({ value }) => value)).toEqual([0, 'uncertain', 'uncertain', 'refused']);
    expect(keys()).toEqual(['ok', 'lost-ack']);
  });

  test('writes a late request after its sender was told that it is uncertain', async () => {
    const late = { delayMs: 50, timeoutMs: 20 };
    const { cluster, keys, runUntil } = await setUp((key) => (key === 'late' ? late : 'ok'));
    const log = cluster.connect('program');
    const seen = outcome(log, 'late');
    await runUntil(30);
    expect(seen.value).toBe('uncertain');
    const again = outcome(log, 'again');
    await runUntil(100);
    expect(again.value).toBe(0);
    expect(keys()).toEqual(['again', 'late']);
    expect(cluster.records(partition).map(({ timestampMs }) => timestampMs)).toEqual([30, 50]);
  });

  test('a crashed program hears nothing more, but what it sent may still be written', async () => {
    const { cluster, keys, runUntil } = await setUp(() => ({ delayMs: 10 }));
    const log = cluster.connect('program');
    let heard = 0;
    const opening = log.reader({
      onRecords: () => {
        heard += 1;
      },
      onPartitionError: () => undefined,
      onInterruption: () => undefined,
    });
    await runUntil(1);
    (await opening).assign(partition, 0);
    const seen = outcome(log, 'sent');
    log.crash();
    const after = outcome(log, 'never sent');
    await runUntil(50);
    expect(keys()).toEqual(['sent']);
    expect([seen.value, after.value, heard]).toEqual(['open', 'open', 0]);
  });

  test('a group notices a crash after a time and gives the partitions away', async () => {
    const { cluster, runUntil } = await setUp(() => 'ok', 1_000);
    const held = new Map<string, number>();
    const logs = ['a', 'b'].map((name) => cluster.connect(name));
    for (const log of logs) {
      const onAssignment = (names: readonly unknown[]): void => {
        held.set(log.name, names.length);
      };
      void log.join('group', ['topic'], { onAssignment, onCrash: () => undefined });
    }
    await runUntil(1);
    expect(held).toEqual(
      new Map([
        ['a', 2],
        ['b', 2],
      ]),
    );
    logs[0]?.crash();
    await runUntil(900);
    expect(held.get('b')).toBe(2);
    await runUntil(1_100);
    expect(held).toEqual(
      new Map([
        ['a', 2],
        ['b', 4],
      ]),
    );
  });

  test('a rebalance by hand assigns the same again', async () => {
    const { cluster, runUntil } = await setUp();
    const assignments: unknown[] = [];
    void cluster.connect('a').join('group', ['topic'], {
      onAssignment: (names) => assignments.push(names),
      onCrash: () => undefined,
    });
    await runUntil(1);
    cluster.rebalance('group');
    await runUntil(2);
    expect(assignments).toHaveLength(2);
    expect(assignments[1]).toEqual(assignments[0]);
  });
});
