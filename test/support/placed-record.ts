import { type Draft, event, type InputEventType, text } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import {
  type CheckpointBody,
  headersOf,
  type PlacedRecord,
  parseHeader,
  type RecordBody,
  type RecordHeader,
} from '../../services/chassis/protocol/record.ts';
import type { ServiceLogic } from '../../services/chassis/protocol/service-logic.ts';
import { inputBody, openingBody, turnBody, writer } from './written-session.ts';

/** Records at their place in a log, as readers see them, for tests of pure folds. */

export const session = 'ses_one';

export function headerOf(id: string, body: RecordBody, sequence?: number): RecordHeader {
  const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' });
  const numbered = sequence === undefined ? headers : { ...headers, lr_sequence: String(sequence) };
  const header = parseHeader(numbered);
  if (header === undefined) throw new Error('not a record of ours');
  return header;
}

export const placed = (offset: number, id: string, body: RecordBody): PlacedRecord => ({
  offset,
  header: headerOf(id, body),
  body,
});

export const opening = (offset = 0, id = 'inp_open'): PlacedRecord =>
  placed(offset, id, openingBody(session));

export const input = (
  offset: number,
  draft: Draft<InputEventType>,
  changes: { id?: string; atMs?: number } = {},
): PlacedRecord => {
  const { id = `inp_${offset}`, ...rest } = changes;
  return placed(offset, id, inputBody(session, draft, rest));
};

export const turn = (
  offset: number,
  drafts: readonly Draft[],
  changes: Parameters<typeof turnBody>[2] = {},
): PlacedRecord => placed(offset, `trn_${offset}`, turnBody(session, drafts, changes));

export const claimed = (call: string, attempt = 1): Draft<'tool.claimed'> =>
  event('tool.claimed', { call, tool: 'count', attempt, deadlineAtMs: 60_000 });

export const completed = (call: string, claim: string): Draft<'tool.completed'> =>
  event(
    'tool.completed',
    { call, claim, attempt: 1, tool: 'count', durationMs: 1 },
    { result: text('done') },
  );

export const unknown = (call: string): Draft<'tool.unknown'> =>
  event(
    'tool.unknown',
    { call, tool: 'count', attempt: 1, because: 'runner-gone' },
    { message: text('nobody knows') },
  );

export const timerSet = (timer: string, dueAtMs: number): Draft<'timer.set'> =>
  event('timer.set', { timer, dueAtMs });

export const cancel = (requestedBy = 'mary'): Draft<'session.cancel-requested'> =>
  event('session.cancel-requested', { requestedBy });

export const skipped = (task: string): Draft<'task.skipped'> =>
  event('task.skipped', { task, because: 'upstream-failed' });

export const checkpointBody = (values: Partial<CheckpointBody> = {}): CheckpointBody => ({
  kind: 'checkpoint',
  session,
  ...writer,
  cursor: { record: 'trn_4', offset: 4 },
  fold: 1,
  machines: {},
  stateHash: 'a'.repeat(64),
  state: { digest: 'b'.repeat(64), mediaType: 'application/json', bytes: 2, body: {} },
  atMs: 1_700_000_000_000,
  release: '0.0.0-test',
  ...values,
});

/** A logic that does nothing; a test changes what it needs. */
export const idleLogic = <S>(
  changes: Partial<ServiceLogic<S>> & Pick<ServiceLogic<S>, 'initial'>,
): ServiceLogic<unknown, JsonObject> =>
  ({
    name: writer.service,
    behaviour: 1,
    fold: 1,
    machines: {},
    evolve: (state: S) => state,
    answers: () => false,
    decide: () => [],
    ...changes,
  }) as unknown as ServiceLogic<unknown, JsonObject>;
