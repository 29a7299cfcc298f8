import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readExport } from '../../replay-tools/read/file.ts';
import { releaseLogics } from '../../replay-tools/verify/logics.ts';
import { sessionTopic } from '../../schemas/topics.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { ClosedSessions } from '../../services/chassis/host/closed-sessions.ts';
import { SessionTable } from '../../services/chassis/host/session-table.ts';
import type { Slot } from '../../services/chassis/host/slot.ts';
import type { PlacedRecord } from '../../services/chassis/protocol/record.ts';
import { print } from './figures.ts';

const services = [
  'planner',
  'supervisor',
  'model-gateway',
  'tool-guard',
  'tool-runner',
  'sandbox-executor',
  'aggregator',
  'worker-pool:default',
].flatMap((name) => {
  const logic = releaseLogics(name);
  return logic === undefined ? [] : [{ logic, topics: [] }];
});

const table = (): SessionTable =>
  new SessionTable(
    services,
    new ClosedSessions({ topic: sessionTopic('normal'), partition: 0 }, []),
  );

/** Records of a recorded session up to its closing. */
async function recorded(): Promise<readonly PlacedRecord[]> {
  const source = await readExport(join(packageRoot, 'test/replay/restarts.jsonl'));
  const found: PlacedRecord[] = [];
  for await (const { offset, header, body } of source.records()) {
    if (body === undefined || body.kind === 'checkpoint' || body.kind === 'epoch') continue;
    if (header.types?.includes('session.closed')) break;
    if (header.session.startsWith('ses_')) found.push({ offset, header, body });
  }
  return found;
}

/** The same session under other ids: nothing is alike that would not be in real ones. */
function copied(records: readonly PlacedRecord[], copy: number): readonly PlacedRecord[] {
  const other = (id: string): string =>
    createHash('sha256').update(`${copy} ${id}`).digest('hex').slice(0, id.length);
  return JSON.parse(JSON.stringify(records).replace(/[0-9a-f]{16,64}/g, other));
}

function folded(into: SessionTable, records: readonly PlacedRecord[]): Slot {
  for (const record of records) into.fold(record, { catchingUp: false, marks: new Map() });
  const slot = into.get(records[0]?.header.session ?? '');
  if (slot === undefined) throw new Error('the recorded session has no opening');
  // As if every service had answered.
  for (const seat of slot.seats.values()) seat.entry = { ...seat.entry, causes: [], outbox: {} };
  return slot;
}

function collect(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

/** Memory of a session that waits, of one host with all services: of some as objects, and of so many packed. */
export async function idleSessions(packedSessions: number): Promise<void> {
  const records = await recorded();
  for (const packs of [false, true]) {
    const sessions = packs ? packedSessions : 1_000;
    const into = table();
    const before = collect();
    let spentMs = 0;
    for (let copy = 0; copy < sessions; copy += 1) {
      const slot = folded(into, copied(records, copy));
      const startMs = performance.now();
      if (packs) into.packWhenIdle(slot, Number.MAX_SAFE_INTEGER);
      spentMs += performance.now() - startMs;
    }
    const bytes = (collect() - before) / sessions;
    const figure = { bench: 'idle-session', as: packs ? 'packed' : 'objects', sessions, bytes };
    print(packs ? { ...figure, packed: into.packedSize, packMs: spentMs / sessions } : figure);
  }
}
