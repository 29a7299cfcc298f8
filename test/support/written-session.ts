import { type Draft, event, text } from '../../schemas/event.ts';
import type { Codec } from '../../services/chassis/log/codec.ts';
import type { OutgoingRecord } from '../../services/chassis/log/port.ts';
import {
  type EpochBody,
  headersOf,
  type InputBody,
  type RecordBody,
  type TurnBody,
} from '../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';

/** Records of session logs as a test wants them, right or wrong, with their bytes. */

export const writer = { service: 'supervisor', epoch: 1, incarnation: 'writer' } as const;
const owner = { tenant: 'acme', principal: 'mary', labels: { team: 'red' } } as const;

type Place = { sequence?: number; traceparent?: string };

export function recordOf(
  id: string,
  body: RecordBody,
  codec: Codec,
  place: Place = {},
): OutgoingRecord {
  const { sequence, traceparent = '' } = place;
  const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent });
  const numbered = sequence === undefined ? headers : { ...headers, lr_sequence: String(sequence) };
  const key = body.kind === 'epoch' ? `epoch/${body.host}` : body.session;
  return { key, headers: numbered, value: codec.encode(body.kind, body) };
}

export const epochBody = (values: Partial<EpochBody> = {}): EpochBody => ({
  kind: 'epoch',
  services: [writer.service],
  number: writer.epoch,
  incarnation: writer.incarnation,
  host: 'test',
  release: '0.0.0-test',
  atMs: Date.UTC(2026, 0, 15),
  ...values,
});

export function openingBody(session: string, values: Partial<InputBody> = {}): InputBody {
  const data = { goalId: session, source: '', priority: 'normal', lane: 'normal' } as const;
  const draft = event(
    'session.opened',
    { ...data, goalLog: `goal_${session}`, openedAtMs: 1 },
    { goal: text('count') },
  );
  return inputBody(session, draft, values);
}

export const inputBody = (
  session: string,
  draft: Draft,
  values: Partial<InputBody> = {},
): InputBody => ({
  kind: 'input',
  session,
  source: 'outside',
  atMs: Date.UTC(2026, 0, 15),
  ...owner,
  event: sealEvent(saltOf(session), draft),
  ...values,
});

export const turnBody = (
  session: string,
  drafts: readonly Draft[],
  values: Partial<TurnBody> = {},
): TurnBody => ({
  kind: 'turn',
  session,
  ...writer,
  base: 'base',
  baseOffset: 0,
  foreseen: [],
  causes: [{ record: 'cause', index: 1 }],
  facts: { data: { nowMs: 1 } },
  behaviour: 3,
  release: '0.0.0-test',
  atMs: Date.UTC(2026, 0, 15),
  ...owner,
  events: drafts.map((draft) => sealEvent(saltOf(session), draft)),
  ...values,
});
