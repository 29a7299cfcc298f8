import { expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import {
  type CheckpointParts,
  Checkpoints,
  carryStretch,
} from '../../../../../services/chassis/host/checkpoints.ts';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';
import { SessionTable } from '../../../../../services/chassis/host/session-table.ts';
import type { Batch } from '../../../../../services/chassis/host/writer.ts';
import { MemoryCluster } from '../../../../../services/chassis/log/memory/memory-cluster.ts';
import type { CheckpointBody } from '../../../../../services/chassis/protocol/record.ts';
import { weightOf } from '../../../../../services/chassis/protocol/record-weight.ts';
import {
  headerOf,
  idleLogic,
  opening,
  placed,
  turn,
  unknown,
} from '../../../../support/placed-record.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';
import { openingBody } from '../../../../support/written-session.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };

/** A partition of idle sessions whose log holds their openings; what is written is read back at once. */
class IdlePartition {
  position = 0;
  written = 0;
  private readonly table: SessionTable;
  private readonly checkpoints: Checkpoints;

  constructor(sessions: number) {
    const services = [{ logic: idleLogic({ initial: () => ({}) }), topics: [at.topic] }];
    this.table = new SessionTable(services, new ClosedSessions(at, []));
    for (let one = 0; one < sessions; one += 1) this.open(`ses_${one}`);
    const ports = quietPorts(new MemoryCluster().connect('one'), new VirtualClock());
    this.checkpoints = new Checkpoints({
      ports,
      identity: { incarnation: 'inc', host: 'one', release: '0.0.0-test' },
      ownership: { epochOf: () => 1, renew: () => undefined },
      ...{ acceptance: {}, writer: { push: (batch: Batch) => this.readBack(batch) } },
    } as unknown as CheckpointParts);
  }

  get mark(): number {
    return this.table.firstNeeded('supervisor', this.position);
  }

  round(): void {
    const { position, table } = this;
    this.checkpoints.round(table.slots(), { position, stretch: carryStretch(table.seats) });
  }

  private open(session: string): void {
    const record = placed(this.position, `inp_${session}`, openingBody(session));
    this.table.fold(record, { catchingUp: false, marks: new Map() });
    this.position += 1;
  }

  private readBack({ records: [draft] }: Batch): void {
    const body = draft?.body as CheckpointBody;
    this.table.noteCheckpoint(headerOf(draft?.id ?? '', body), this.position);
    this.position += 1;
    this.written += 1;
  }
}

test('what is carried forward does not push the next round by itself', () => {
  const idle = new IdlePartition(limits.carryForwardRecords * 2);
  for (let round = 0; round < 100; round += 1) idle.round();
  expect(idle.written).toBe(0);
});

test('many idle sessions are each carried forward once per stretch of the log, and the mark follows', () => {
  const sessions = 1_500;
  const idle = new IdlePartition(sessions);
  const stretch = carryStretch(sessions);
  expect(stretch).toBe(sessions * limits.carryForwardSpacing);
  idle.position += stretch;
  for (let round = 0; round < 20; round += 1) idle.round();
  expect(idle.written).toBe(sessions);
  expect(idle.mark).toBeGreaterThan(stretch);
});

test('one look writes so many and no more, those that hold the mark longest first', () => {
  const idle = new IdlePartition(limits.checkpointsPerRound + 1);
  idle.position += limits.carryForwardRecords * 2;
  idle.round();
  expect(idle.written).toBe(limits.checkpointsPerRound);
  expect(idle.mark).toBe(limits.checkpointsPerRound);
});

/** A session whose state holds all that was said in it, checkpointed as a host does. */
function growingSession(records: number) {
  const logic = idleLogic<readonly string[]>({
    initial: () => [],
    evolve: (state, { content }) => {
      const { message } = content as unknown as Record<string, { body: string } | undefined>;
      return message === undefined ? state : [...state, message.body];
    },
  });
  const table = new SessionTable([{ logic, topics: [] }], new ClosedSessions(at, []));
  const log = { bytes: 0, checkpointBytes: 0, position: 0 };
  const push = ({ records: [draft] }: Batch): void => {
    const body = draft?.body as CheckpointBody;
    log.checkpointBytes += body.state.bytes;
    table.noteCheckpoint(headerOf(draft?.id ?? '', body), log.position);
    log.position += 1;
  };
  const checkpoints = new Checkpoints({
    ports: quietPorts(new MemoryCluster().connect('one'), new VirtualClock()),
    identity: { incarnation: 'inc', host: 'one', release: '0.0.0-test' },
    ownership: { epochOf: () => 1, renew: () => undefined },
    ...{ acceptance: {}, writer: { push } },
  } as unknown as CheckpointParts);
  const read = (record: ReturnType<typeof placed>): void => {
    table.fold(record, { catchingUp: false, marks: new Map() });
    log.bytes += weightOf(record.body);
    log.position += 1;
  };
  read(opening());
  for (let one = 0; one < records; one += 1) {
    read(turn(log.position, [unknown(`${one} ${'x'.repeat(1_000)}`)]));
    const at = { position: log.position, stretch: Number.MAX_SAFE_INTEGER };
    checkpoints.round(table.slots(), at);
  }
  return log;
}

test('checkpoints of a state that grows with its session take a bounded share of the log', () => {
  const [short, long] = [growingSession(1_000), growingSession(8_000)];
  expect(short.checkpointBytes).toBeGreaterThan(0);
  expect(long.checkpointBytes).toBeLessThan(long.bytes / 3);
  expect(long.bytes / short.bytes).toBeLessThan(8.1);
});
