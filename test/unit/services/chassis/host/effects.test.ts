import { describe, expect, test } from 'vitest';
import {
  type Draft,
  event,
  type InputEventType,
  type SeenEvent,
  text,
} from '../../../../../schemas/event.ts';
import { limits } from '../../../../../schemas/limits.ts';
import { EffectTable } from '../../../../../services/chassis/host/effects.ts';
import type { EffectJob, HostedService } from '../../../../../services/chassis/host/ports.ts';
import { type Batch, PartitionWriter } from '../../../../../services/chassis/host/writer.ts';
import { AppendError } from '../../../../../services/chassis/log/append-error.ts';
import { outcomeId } from '../../../../../services/chassis/protocol/ids.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import {
  claimed,
  completed,
  idleLogic,
  opening,
  session,
  turn,
  unknown,
} from '../../../../support/placed-record.ts';
import { keepingLogger, quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const identity = { incarnation: 'mine', host: 'host-1', release: '0.0.0-test' };
const logic = idleLogic<null>({ initial: () => null });

class KeepingWriter extends PartitionWriter {
  readonly pushed: Batch[] = [];
  override push(batch: Batch): void {
    this.pushed.push(batch);
  }
}

type Run = Readonly<{
  call: string;
  signal: AbortSignal;
  end(draft: Draft<InputEventType> | undefined): void;
  fail(thrown: unknown): void;
}>;

function bench(job: { unrecorded?: true } = {}) {
  const clock = new VirtualClock(0);
  const logger = keepingLogger();
  const ports = quietPorts(new ScriptedLog(), clock, { logger });
  const writer = new KeepingWriter(at, ports, { onAppended: () => undefined });
  const lost: string[] = [];
  const table = new EffectTable({ ports, writer, identity }, (one) => lost.push(one));
  const runs: Run[] = [];
  const allowed = { run: true };
  const jobOf = (claim: SeenEvent): EffectJob => {
    const { call, deadlineAtMs } = claim.data as { call: string; deadlineAtMs: number };
    return {
      call,
      deadlineAtMs,
      run: ({ signal }) =>
        new Promise((resolve, reject) => {
          runs.push({ call, signal, end: resolve, fail: reject });
        }),
      notStarted: (reason) => completed(call, `not started: ${reason}`),
      ...(job.unrecorded ? { unrecorded: (_outcome, why) => failedCall(call, why.code) } : {}),
    };
  };
  const service: HostedService = {
    logic,
    topics: [at.topic],
    effects: { jobOf, mayRun: () => allowed.run },
  };
  const start = (entry: ServiceEntry, claims: readonly SeenEvent[]): void =>
    table.startAll(service, claims, { entry, traceparent: '00-a-b-01' });
  return { clock, logger, table, pushed: writer.pushed, lost, runs, allowed, start };
}

/** A session in which these calls were claimed by one turn. */
function claimedSession(...calls: readonly string[]) {
  const records = [
    opening(),
    turn(
      1,
      calls.map((call) => claimed(call)),
      { incarnation: 'mine' },
    ),
  ];
  const entry = records.reduce(
    (before, record) => foldEntry(logic, before, { record }),
    newEntry(logic, session),
  );
  const claims = calls.map((call, index) => {
    const { type, data } = claimed(call);
    return { type, data, record: 'trn_1', index } as unknown as SeenEvent;
  });
  return { entry, claims, core: entry.core };
}

function failedCall(call: string, code: string): Draft<'tool.failed'> {
  const told = { call, claim: '', attempt: 1, tool: 'count', durationMs: 0 };
  const data = { ...told, code, class: 'limit' as const, retryable: false };
  return event('tool.failed', data, { message: text('no room') });
}

const nobodyGone = (): boolean => false;

describe('an effect', () => {
  test('starts once for its claim, and its outcome is an input that names both', async () => {
    const { start, runs, pushed, table } = bench();
    const { entry, claims } = claimedSession('c1');
    start(entry, claims);
    start(entry, claims);
    expect(runs.map(({ call }) => call)).toEqual(['c1']);
    runs[0]?.end(completed('c1', ''));
    await settled();
    expect(pushed).toHaveLength(1);
    const [record] = pushed[0]?.records ?? [];
    expect(record?.id).toBe(outcomeId('c1', 'trn_1#0'));
    expect(record?.body).toMatchObject({
      kind: 'input',
      source: 'supervisor',
      incarnation: 'mine',
      tenant: 'acme',
      event: { type: 'tool.completed', data: { call: 'c1', claim: 'trn_1#0' } },
    });
    expect(table.size).toBe(1);
  });

  test('of each call of a turn starts', () => {
    const { start, runs } = bench();
    const { entry, claims } = claimedSession('c1', 'c2');
    start(entry, claims);
    expect(runs.map(({ call }) => call)).toEqual(['c1', 'c2']);
  });

  test('stays in the table until its outcome was read back, so that its claim is not lost', async () => {
    const { start, runs, table } = bench();
    const { entry, claims, core } = claimedSession('c1');
    start(entry, claims);
    runs[0]?.end(completed('c1', ''));
    await settled();
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({});
    table.readBack('inp_other');
    expect(table.size).toBe(1);
    table.readBack(outcomeId('c1', 'trn_1#0'));
    expect(table.size).toBe(0);
  });

  test('whose outcome the broker refuses for now stays in the table, and is sent again', async () => {
    const { start, runs, table, pushed, clock, logger } = bench();
    const { entry, claims, core } = claimedSession('c1');
    start(entry, claims);
    runs[0]?.end(completed('c1', ''));
    await settled();
    pushed[0]?.onRefused?.(new AppendError('not-allowed', 'no right to write'), true);
    await clock.run(1_000);
    expect(pushed).toHaveLength(2);
    expect(pushed[1]?.records).toEqual(pushed[0]?.records);
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({});
    expect(logger.lines.map(({ level }) => level)).toEqual(['error']);
    table.readBack(outcomeId('c1', 'trn_1#0'));
    pushed[1]?.onRefused?.(new AppendError('not-allowed', 'no right to write'), true);
    await clock.run(100_000);
    expect([pushed.length, table.size]).toEqual([2, 0]);
  });

  test('whose outcome fits into no record ends as a failure that says so, under the same id', async () => {
    const { start, runs, table, pushed } = bench({ unrecorded: true });
    const { entry, claims, core } = claimedSession('c1');
    start(entry, claims);
    runs[0]?.end(completed('c1', ''));
    await settled();
    pushed[0]?.onRefused?.(new AppendError('too-large', 'more than 1 byte'), true);
    expect(pushed.map(({ records }) => records[0]?.id)).toEqual([
      outcomeId('c1', 'trn_1#0'),
      outcomeId('c1', 'trn_1#0'),
    ]);
    expect(pushed[1]?.records[0]?.body).toMatchObject({
      event: { type: 'tool.failed', data: { claim: 'trn_1#0', code: 'OUTCOME_TOO_LARGE' } },
    });
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({});
    pushed[1]?.onRefused?.(new AppendError('too-large', 'more than 1 byte'), true);
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({ c1: 'runner-gone' });
  });

  test('whose outcome fits into no record, with nothing in its place, is lost', async () => {
    const { start, runs, table, pushed, lost } = bench();
    const { entry, claims, core } = claimedSession('c1');
    start(entry, claims);
    runs[0]?.end(completed('c1', ''));
    await settled();
    pushed[0]?.onRefused?.(new AppendError('too-large', 'more than 1 byte'), true);
    expect([pushed.length, lost]).toEqual([1, [session]]);
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({ c1: 'runner-gone' });
  });
});

describe('an effect is not started', () => {
  const notStarted = (pushed: readonly Batch[]): unknown => pushed[0]?.records[0]?.body;

  test('behind its deadline: the outcome says so', async () => {
    const { start, runs, pushed, clock } = bench();
    const { entry, claims } = claimedSession('c1');
    await clock.run(60_001);
    start(entry, claims);
    expect(runs).toEqual([]);
    expect(notStarted(pushed)).toMatchObject({
      event: { type: 'tool.completed', data: { claim: 'trn_1#0' } },
    });
  });

  test('when the state forbids it: the outcome says so', () => {
    const { start, runs, pushed, allowed } = bench();
    const { entry, claims } = claimedSession('c1');
    allowed.run = false;
    start(entry, claims);
    expect([runs.length, pushed.length]).toEqual([0, 1]);
  });
});

describe('an effect whose end nobody saw', () => {
  test('is lost at once, and its session is looked at', async () => {
    const { start, runs, table, lost, pushed } = bench();
    const { entry, claims, core } = claimedSession('c1');
    start(entry, claims);
    runs[0]?.end(undefined);
    await settled();
    expect([table.size, pushed.length]).toEqual([0, 0]);
    expect(lost).toEqual([session]);
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({ c1: 'runner-gone' });
  });

  test('is one that threw against its promise as well', async () => {
    const { start, runs, table, lost, logger } = bench();
    const { entry, claims } = claimedSession('c1');
    start(entry, claims);
    runs[0]?.fail(new Error('out of memory'));
    await settled();
    expect([table.size, lost]).toEqual([0, [session]]);
    expect(logger.lines.at(-1)).toMatchObject({
      level: 'error',
      fields: { call: 'c1', error: 'out of memory' },
    });
  });
});

describe('a running effect', () => {
  test('is told to stop when the state allows it no more, once', () => {
    const { start, runs, table, allowed } = bench();
    const { entry, claims } = claimedSession('c1');
    start(entry, claims);
    table.cancelForbidden(session, () => null);
    expect(runs[0]?.signal.aborted).toBe(false);
    allowed.run = false;
    table.cancelForbidden('ses_other', () => null);
    table.cancelForbidden(session, () => undefined);
    expect(runs[0]?.signal.aborted).toBe(false);
    table.cancelForbidden(session, () => null);
    expect(runs[0]?.signal.reason).toBe('cancelled');
  });

  test('is stopped a while behind its deadline, which it should have kept by itself', async () => {
    const { start, runs, clock } = bench();
    const { entry, claims } = claimedSession('c1');
    start(entry, claims);
    await clock.run(60_000 + limits.effectOverrunMs - 1);
    expect(runs[0]?.signal.aborted).toBe(false);
    await clock.run(1);
    expect(runs[0]?.signal.reason).toBe('deadline');
  });

  test('that does not hear it is given up, so that its session does not wait for ever', async () => {
    const { start, table, clock } = bench();
    const { entry, claims } = claimedSession('c1');
    start(entry, claims);
    await clock.run(60_000 + limits.effectOverrunMs + limits.claimGraceMs - 1);
    expect(table.size).toBe(1);
    await clock.run(1);
    expect(table.size).toBe(0);
  });

  test('that ended in time is not stopped afterwards', async () => {
    const { start, runs, clock } = bench();
    const { entry, claims } = claimedSession('c1');
    start(entry, claims);
    runs[0]?.end(completed('c1', ''));
    await settled();
    await clock.run(120_000);
    expect(runs[0]?.signal.aborted).toBe(false);
  });

  test('that fails because the process ends is lost: the next owner knows what that means', async () => {
    const { start, runs, table, pushed } = bench();
    const { entry, claims } = claimedSession('c1', 'c2');
    start(entry, claims);
    table.abortAll();
    runs[0]?.end({ ...completed('c1', ''), type: 'tool.failed' } as never);
    runs[1]?.end(completed('c2', ''));
    await settled();
    expect([table.size, pushed.length]).toEqual([1, 1]);
  });

  test('is told to stop when the process ends', () => {
    const { start, runs, table } = bench();
    const { entry, claims } = claimedSession('c1', 'c2');
    start(entry, claims);
    table.abortAll();
    expect(runs.map(({ signal }) => signal.reason)).toEqual(['shutdown', 'shutdown']);
  });
});

describe('a claim is lost', () => {
  const theirs = (incarnation: string, more = [claimed('c1')]): ServiceEntry['core'] =>
    [opening(), turn(1, more, { incarnation })].reduce(
      (before, record) => foldEntry(logic, before, { record }),
      newEntry(logic, session),
    ).core;

  test('when it is of this process, which does not run it', () => {
    const { table } = bench();
    expect(table.lostCalls('supervisor', theirs('mine'), nobodyGone)).toEqual({
      c1: 'runner-gone',
    });
  });

  test('when its process is gone', () => {
    const { table } = bench();
    const core = theirs('other');
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({});
    expect(table.lostCalls('supervisor', core, (one) => one === 'other')).toEqual({
      c1: 'runner-gone',
    });
  });

  test('when its deadline and the grace behind it have passed, whoever runs it', async () => {
    const { table, clock } = bench();
    const core = theirs('other');
    await clock.run(60_000 + limits.claimGraceMs);
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({});
    await clock.run(1);
    expect(table.lostCalls('supervisor', core, nobodyGone)).toEqual({ c1: 'deadline' });
  });

  test('only to its own service, and only once: what is unknown is not lost again', () => {
    const { table } = bench();
    expect(table.lostCalls('planner', theirs('mine'), nobodyGone)).toEqual({});
    const declared = theirs('mine', [claimed('c1'), unknown('c1') as never]);
    expect(table.lostCalls('supervisor', declared, nobodyGone)).toEqual({});
  });
});
