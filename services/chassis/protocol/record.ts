import type { Content, EventAddress } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { EventRecord } from './event-record.ts';

/**
 * Records of a session log (DESIGN 2 and 3). A record is an input, a turn, a checkpoint or an epoch. Its headers
 * carry all that acceptance needs, so that a body that cannot be read never splits readers.
 */

export type RecordKind = 'turn' | 'input' | 'checkpoint' | 'epoch';

/** Why a broker will never take something. */
export type Refused = Readonly<{ code: string; message: string }>;

/** The partition that holds the log of a session. */
export type LogPlace = Readonly<{ topic: string; partition: number }>;

/** A record of it. */
export type RecordPlace = LogPlace & Readonly<{ offset: number; record: string }>;

/** Facts as they stand in a turn. Those of `service` belong to the service, the others to the chassis. */
export type RecordedFacts = Readonly<{
  data: Readonly<{
    nowMs: number;
    delivered?: readonly string[];
    lost?: Readonly<Record<string, 'runner-gone' | 'deadline'>>;
    /** Deliveries that the broker will never take, by the address of their event. */
    refused?: Readonly<Record<string, Refused>>;
    /** The broker took no turn of the size that this state leads to. */
    turnRefused?: Refused;
    /** Why this is not decided any more: hosts died of it, or what comes of it never counts. */
    poison?: Refused;
    /** What the decision started from, in the log; said only where it failed, for its dead letter. */
    origin?: RecordPlace;
    service?: JsonObject;
  }>;
  content?: Readonly<Record<string, Content>>;
}>;

type Identity = Readonly<{
  tenant: string;
  principal: string;
  labels: Readonly<Record<string, string>>;
}>;

type Owned = Readonly<{ service: string; epoch: number; incarnation: string }>;

export type TurnBody = Owned &
  Identity &
  Readonly<{
    kind: 'turn';
    session: string;
    /** Id of the newest effective record that the decision had read, and its offset in this partition. */
    base: string;
    baseOffset: number;
    /** The checkpoint that the state started from. */
    root?: string;
    foreseen: readonly string[];
    causes: readonly EventAddress[];
    facts: RecordedFacts;
    behaviour: number;
    release: string;
    atMs: number;
    events: readonly EventRecord[];
  }>;

export type InputBody = Identity &
  Readonly<{
    kind: 'input';
    session: string;
    /** Who wrote it: a service, or `outside`. */
    source: string;
    incarnation?: string;
    /** Set where only the owner of the source may write it: void once another epoch is current. */
    epoch?: number;
    /** It begins a batch whose turns foresaw it (DESIGN 3.5). */
    foreseeable?: true;
    atMs: number;
    event: EventRecord;
    /** Never written: the records that a fork's opening shares, put here by who reads it (`forked-past.ts`). */
    past?: readonly PlacedRecord[];
  }>;

export type CheckpointBody = Owned &
  Readonly<{
    kind: 'checkpoint';
    session: string;
    cursor: Readonly<{ record: string; offset: number }>;
    /** The checkpoint that the state started from, and the offset of the session's first record, if they are known. */
    root?: string;
    beginning?: number;
    /** Behaviour version of the service that folded the state; 1 where it is not said. */
    behaviour?: number;
    fold: number;
    /** Form of what is in the content but the service's own state; 1 where it is not said. */
    form?: number;
    machines: Readonly<Record<string, string>>;
    stateHash: string;
    state: Content;
    atMs: number;
    release: string;
  }>;

export type EpochBody = Readonly<{
  kind: 'epoch';
  services: readonly string[];
  number: number;
  incarnation: string;
  host: string;
  release: string;
  atMs: number;
}>;

export type RecordBody = TurnBody | InputBody | CheckpointBody | EpochBody;

/** What the headers say. Fields that a kind does not have are empty or -1. */
export type RecordHeader = Readonly<{
  kind: RecordKind;
  id: string;
  session: string;
  service: string;
  services: readonly string[];
  epoch: number;
  incarnation: string;
  sequence: number;
  base: string;
  baseOffset: number;
  foreseen: readonly string[];
  batch: string;
  batchIndex: number;
  cursorOffset: number;
  /** Of a checkpoint's state; -1 where the release that wrote it did not say so here. */
  fold: number;
  types: readonly string[];
  behaviour: number;
  atMs: number;
  traceparent: string;
  /** The cipher that the contents are sealed with; absent where they stand open. */
  codec?: string;
}>;

/** A record at its place in the log, read and decoded. */
export type PlacedRecord = Readonly<{ offset: number; header: RecordHeader; body: RecordBody }>;

export type BatchPlace = Readonly<{ batch: string; batchIndex: number }>;

/** How a record is sent. `codec` where its contents are sealed. */
export type Sending = BatchPlace & Readonly<{ traceparent: string; codec?: string }>;

const list = (items: readonly string[]): string => items.join(',');
const nothing: readonly string[] = [];
const unlist = (text: string | undefined): readonly string[] =>
  text === undefined || text === '' ? nothing : text.split(',');

function turnHeaders(body: TurnBody): Record<string, string> {
  return {
    lr_service: body.service,
    lr_epoch: String(body.epoch),
    lr_incarnation: body.incarnation,
    lr_base: body.base,
    lr_base_offset: String(body.baseOffset),
    lr_foreseen: list(body.foreseen),
    lr_types: list(body.events.map((event) => event.type)),
    lr_behaviour: String(body.behaviour),
  };
}

function fenceHeaders({ epoch, incarnation }: InputBody): Record<string, string> {
  if (epoch === undefined) return {};
  return { lr_epoch: String(epoch), lr_incarnation: incarnation ?? '' };
}

function kindHeaders(body: RecordBody): Record<string, string> {
  switch (body.kind) {
    case 'turn':
      return turnHeaders(body);
    case 'input':
      return { lr_service: body.source, lr_types: body.event.type, ...fenceHeaders(body) };
    case 'checkpoint':
      return {
        lr_service: body.service,
        lr_epoch: String(body.epoch),
        lr_incarnation: body.incarnation,
        lr_cursor: String(body.cursor.offset),
        lr_fold: String(body.fold),
      };
    case 'epoch':
      return {
        lr_services: list(body.services),
        lr_epoch: String(body.number),
        lr_incarnation: body.incarnation,
      };
  }
}

const sourceOf = (body: RecordBody): string => {
  if (body.kind === 'epoch') return `/hosts/${body.host}`;
  return `/services/${body.kind === 'input' ? body.source : body.service}`;
};

/** The headers of a record, without its sequence number: that is given when the record is first sent. */
export function headersOf(id: string, body: RecordBody, place: Sending): Record<string, string> {
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_type: `longrein.${body.kind}.${bodyVersionOf(body, place.codec)}`,
    ce_source: sourceOf(body),
    ce_subject: body.kind === 'epoch' ? '' : body.session,
    ce_time: new Date(body.atMs).toISOString(),
    'content-type': 'application/json',
    lr_kind: body.kind,
    lr_batch: place.batch,
    lr_batch_index: String(place.batchIndex),
    ...kindHeaders(body),
    ...(place.traceparent === '' ? {} : { traceparent: place.traceparent }),
    ...(place.codec === undefined ? {} : { lr_codec: place.codec }),
  };
}

const kinds: readonly string[] = ['turn', 'input', 'checkpoint', 'epoch'];

/** Of records whose contents are sealed: who cannot open them must not take them for empty. */
const sealedVersion = 'v3';
/** Record versions that this release reads: what must not be passed over in a record gets it another one. */
const bodyVersions: readonly string[] = ['v1', sealedVersion];

/** Who does not know that an input can be foreseen takes the turns that foresaw it for void. */
function bodyVersionOf(body: RecordBody, codec: string | undefined): string {
  if (codec !== undefined) return sealedVersion;
  return body.kind === 'input' && body.foreseeable === true ? 'v2' : 'v1';
}

/** Whether the headers are those of a record of ours, of a kind that only a newer release knows. */
export function isNewerKind(headers: Readonly<Record<string, string>>): boolean {
  const kind = headers['lr_kind'] ?? '';
  return kind !== '' && !kinds.includes(kind) && typeOf(headers).startsWith('longrein.');
}

/** Whether the body of the record is of a version that only a newer release reads. */
export function isNewerBody(headers: Readonly<Record<string, string>>): boolean {
  const [prefix, kind, version = ''] = typeOf(headers).split('.');
  if (prefix !== 'longrein' || kind !== headers['lr_kind']) return false;
  return !bodyVersions.includes(version) && !(kind === 'input' && version === 'v2');
}

const typeOf = (headers: Headers): string => headers['ce_type'] ?? '';
const numbers = [
  'lr_epoch',
  'lr_sequence',
  'lr_base_offset',
  'lr_batch_index',
  'lr_cursor',
  'lr_fold',
  'lr_behaviour',
] as const;

const whole = /^-?\d+$/;
/** Absent is as good as a number: kinds have not all of them. */
function isWhole(text: string | undefined): boolean {
  if (text === undefined) return true;
  const number = Number(text);
  // What it looks like is asked only where it is not written as we write it.
  return Number.isSafeInteger(number) && (String(number) === text || whole.test(text));
}

type Headers = Readonly<Record<string, string>>;
const numberIn = (headers: Headers, name: (typeof numbers)[number]): number =>
  Number(headers[name] ?? -1);

/**
 * The header of a record. Undefined for a record of another program; headers that look like ours and cannot be read
 * are of another program too, for every reader alike: one such record must not stop a partition.
 */
export function parseHeader(headers: Readonly<Record<string, string>>): RecordHeader | undefined {
  const kind = headers['lr_kind'];
  if (kind === undefined || !kinds.includes(kind)) return undefined;
  if (!numbers.every((name) => isWhole(headers[name]))) return undefined;
  return {
    kind: kind as RecordKind,
    id: headers['ce_id'] ?? '',
    session: headers['ce_subject'] ?? '',
    service: headers['lr_service'] ?? '',
    services: unlist(headers['lr_services']),
    epoch: numberIn(headers, 'lr_epoch'),
    incarnation: headers['lr_incarnation'] ?? '',
    sequence: numberIn(headers, 'lr_sequence'),
    base: headers['lr_base'] ?? '',
    baseOffset: numberIn(headers, 'lr_base_offset'),
    foreseen: unlist(headers['lr_foreseen']),
    batch: headers['lr_batch'] ?? '',
    batchIndex: numberIn(headers, 'lr_batch_index'),
    cursorOffset: numberIn(headers, 'lr_cursor'),
    fold: numberIn(headers, 'lr_fold'),
    types: unlist(headers['lr_types']),
    behaviour: numberIn(headers, 'lr_behaviour'),
    atMs: Date.parse(headers['ce_time'] ?? ''),
    traceparent: headers['traceparent'] ?? '',
    ...(headers['lr_codec'] === undefined ? {} : { codec: headers['lr_codec'] }),
  };
}
