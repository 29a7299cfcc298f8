import type { JsonValue } from '../../schemas/json.ts';
import { outcomes } from '../../services/chassis/protocol/event-kinds.ts';
import { canonical, sha256 } from '../../services/chassis/protocol/hash.ts';
import { outcomeId, timerFiredId } from '../../services/chassis/protocol/ids.ts';
import {
  headersOf,
  type InputBody,
  type PlacedRecord,
  parseHeader,
  type RecordHeader,
} from '../../services/chassis/protocol/record.ts';
import { plainSaltOf, recordHash, saltOf } from '../../services/chassis/protocol/seal.ts';
import { contentsOf, type PlacedContent } from '../read/contents.ts';
import { changesOf } from './changes.ts';
import { isToldBy } from './headers.ts';
import { type Difference, type Findings, writerOf } from './report.ts';

/** What a record proves of itself, whatever any release decides: its id, its headers, its digests. */

type Partial = Omit<Difference, 'service' | 'record' | 'offset' | 'release' | 'behaviour'>;

/** A difference at this record. */
export function differenceAt(record: PlacedRecord, what: Partial): Difference {
  const { header, body, offset } = record;
  return { ...what, ...writerOf(header, body), record: header.id, offset };
}

const prefixes = { turn: 'trn', checkpoint: 'ckp' } as const;

function idDifference(record: PlacedRecord): Difference | undefined {
  const { body, header } = record;
  if (body.kind !== 'turn' && body.kind !== 'checkpoint') return undefined;
  const id = `${prefixes[body.kind]}_${recordHash(body).slice(0, 32)}`;
  if (id === header.id) return undefined;
  const message = `the id of this ${body.kind} is not the hash of what is in it: it was changed after it was written`;
  return differenceAt(record, { kind: 'record-id', message, changes: changesOf(header.id, id) });
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other ||
  (Array.isArray(one) &&
    Array.isArray(other) &&
    one.length === other.length &&
    one.every((item, at) => item === other[at]));

/** Member by member: texts of both would take longer than all the rest of this check. */
function isSameHeader(told: object, header: RecordHeader): boolean {
  const members = told as Readonly<Record<string, unknown>>;
  const names = Object.keys(header);
  if (names.length !== Object.keys(members).length) return false;
  return names.every((name) => isSame(header[name as keyof RecordHeader], members[name]));
}

function headerDifference(record: PlacedRecord): Difference | undefined {
  const { header, body } = record;
  if (isToldBy(body, header)) return undefined;
  // A sequence number is given when a record is sent: it stands in the headers only. Older releases named no fold.
  const said = parseHeader(headersOf(header.id, body, header));
  const fold = header.fold === -1 ? -1 : said?.fold;
  // Whether contents are sealed is no part of what they are: it says how the record was sent.
  const codec = header.codec === undefined ? {} : { codec: header.codec };
  const told = { ...said, sequence: header.sequence, fold, ...codec };
  if (isSameHeader(told, header)) return undefined;
  const message = 'the headers of this record say something else than its body';
  return differenceAt(record, { kind: 'header', message, changes: changesOf(header, told) });
}

/** Digests of one session's contents. A body that several records share is hashed once. */
export class Digests {
  private readonly salt: string;
  private readonly known = new WeakMap<object, string>();

  constructor(salt: string) {
    this.salt = salt;
  }

  /** Of the records of a session that are sealed, and of those that stand open. */
  static of(session: string): SessionDigests {
    const open = new Digests(plainSaltOf(session));
    return { sealed: new Digests(saltOf(session)), open };
  }

  of(body: JsonValue): string {
    if (typeof body !== 'object' || body === null) return this.compute(body);
    const known = this.known.get(body);
    if (known !== undefined) return known;
    const digest = this.compute(body);
    this.known.set(body, digest);
    return digest;
  }

  private compute(body: JsonValue): string {
    return sha256(this.salt + canonical(body));
  }
}

export type SessionDigests = Readonly<{ sealed: Digests; open: Digests }>;

function contentDifference(
  record: PlacedRecord,
  placed: PlacedContent,
  digests: Digests,
): Difference | undefined {
  const { content, pointer, event } = placed;
  const actual = digests.of(content.body ?? null);
  if (actual === content.digest) return undefined;
  const eventType = event === undefined ? undefined : record.header.types[event];
  return differenceAt(record, {
    kind: 'content',
    message: `the body of the content ${content.digest} is not the one that was written`,
    ...(event === undefined ? {} : { eventIndex: event }),
    ...(eventType === undefined ? {} : { eventType }),
    changes: [{ pointer: `${pointer}/digest`, expected: content.digest, actual }],
  });
}

const textIn = (data: Readonly<Record<string, unknown>>, name: string): string =>
  String(data[name] ?? '');

/** The id that an outcome or a timer must have; undefined where ids follow from elsewhere. */
function inputIdOf({ event }: InputBody): string | undefined {
  const data = event.data as Readonly<Record<string, unknown>>;
  if (event.type === 'timer.fired')
    return timerFiredId(textIn(data, 'record'), Number(data['index']));
  if (!outcomes.has(event.type)) return undefined;
  return outcomeId(textIn(data, 'call'), textIn(data, 'claim'));
}

/** The id of an input that counted, where it follows from what the input is about. */
export function inputIdDifference(record: PlacedRecord): Difference | undefined {
  if (record.body.kind !== 'input') return undefined;
  const id = inputIdOf(record.body);
  if (id === undefined || id === record.header.id) return undefined;
  const { type } = record.body.event;
  const message = `the id of this ${type} does not follow from what it is about`;
  const place = { eventIndex: 0, eventType: type, changes: changesOf(record.header.id, id) };
  return differenceAt(record, { kind: 'input-id', message, ...place });
}

const sealedAway =
  'a content is sealed, and the key of the session is not here or was dropped: what needs it was checked by hash only';

const nowhere = (digest: string): string =>
  `content ${digest} is nowhere: what needs it was checked by hash only`;

/** Everything that the record proves of itself. Answers whether it is as it was written. */
export function checkIntegrity(
  record: PlacedRecord,
  { sealed, open }: SessionDigests,
  findings: Findings,
): boolean {
  const isSealed = record.header.codec !== undefined;
  const digests = isSealed ? sealed : open;
  let isWhole = true;
  const note = (difference: Difference | undefined): void => {
    if (difference === undefined) return;
    isWhole = false;
    findings.differ(difference);
  };
  note(headerDifference(record));
  note(idDifference(record));
  for (const placed of contentsOf(record.body)) {
    if (placed.content.body === undefined) {
      findings.warn(isSealed ? sealedAway : nowhere(placed.content.digest));
      continue;
    }
    findings.contents += 1;
    note(contentDifference(record, placed, digests));
  }
  return isWhole;
}
