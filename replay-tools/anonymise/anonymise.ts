import type { Content } from '../../schemas/event.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import type { EventRecord } from '../../services/chassis/protocol/event-record.ts';
import { outcomeId, timerFiredId } from '../../services/chassis/protocol/ids.ts';
import {
  type CheckpointBody,
  headersOf,
  type InputBody,
  parseHeader,
  type RecordBody,
  type RecordHeader,
  type TurnBody,
} from '../../services/chassis/protocol/record.ts';
import { plainSaltOf, recordHash, sealContent } from '../../services/chassis/protocol/seal.ts';
import type { Masks } from '../../services/chassis/telemetry/masks.ts';
import { acceptanceHeader, type SessionSource, type SourceRecord } from '../read/source.ts';
import { MaskedTexts } from './masked-texts.ts';
import { Pseudonyms } from './pseudonyms.ts';
import { otherBody, otherData, otherLabels, otherService } from './values.ts';

/**
 * A session that can be given away: names, texts and keys replaced, the same by the same; ids and digests computed again
 * over what stands there now. What happened, when, and what it cost stays. States of checkpoints are left out.
 */

type Contents = Readonly<Record<string, Content>> | undefined;

class Anonymiser {
  private readonly names: Pseudonyms;
  private readonly salt: string;

  constructor(session: string, names: Pseudonyms) {
    this.names = names;
    // What leaves the house stands open: its digests are those of sessions without a key.
    this.salt = plainSaltOf(names.id(session));
  }

  private content({ digest, mediaType, bytes, body }: Content): Content {
    if (body === undefined) return { digest: this.names.hex(digest, 64), mediaType, bytes };
    return sealContent(this.salt, { mediaType, body: otherBody(body, this.names) });
  }

  private contents<T extends Contents>(contents: T): T {
    if (contents === undefined) return contents;
    const pairs = Object.entries(contents).map(([name, one]) => [name, this.content(one)]);
    return Object.fromEntries(pairs) as T;
  }

  private event(event: EventRecord): EventRecord {
    const content = this.contents(event.content);
    const changed = { ...event, data: otherData(event.data, this.names) };
    return content === undefined ? changed : { ...changed, content };
  }

  private owned<T extends Readonly<{ service: string; incarnation: string }>>(body: T) {
    return {
      service: otherService(body.service, this.names),
      incarnation: this.names.hex(body.incarnation, 32),
    };
  }

  private identity({ tenant, principal, labels }: TurnBody | InputBody) {
    return {
      tenant: this.names.text(tenant),
      principal: this.names.text(principal),
      labels: otherLabels(labels, this.names),
    };
  }

  private turn(body: TurnBody): TurnBody {
    const { names } = this;
    const content = this.contents(body.facts.content);
    const data = otherData(body.facts.data, names);
    return {
      ...{ ...body, ...this.owned(body), ...this.identity(body), session: names.id(body.session) },
      base: names.id(body.base),
      ...(body.root === undefined ? {} : { root: names.id(body.root) }),
      foreseen: body.foreseen.map((id) => names.id(id)),
      causes: body.causes.map(({ record, index }) => ({ record: names.id(record), index })),
      facts: content === undefined ? { data } : { data, content },
      events: body.events.map((event) => this.event(event)),
    };
  }

  private input(body: InputBody): InputBody {
    const { names } = this;
    const { source, incarnation } = body;
    return {
      ...{ ...body, ...this.identity(body), session: names.id(body.session) },
      source: otherService(source, names),
      ...(incarnation === undefined ? {} : { incarnation: names.hex(incarnation, 32) }),
      event: this.event(body.event),
    };
  }

  private checkpoint(body: CheckpointBody): CheckpointBody {
    const { names } = this;
    const { digest, mediaType, bytes } = body.state;
    return {
      ...{ ...body, ...this.owned(body), session: names.id(body.session) },
      cursor: { ...body.cursor, record: names.id(body.cursor.record) },
      ...(body.root === undefined ? {} : { root: names.id(body.root) }),
      stateHash: names.hex(body.stateHash, 64),
      state: { digest: names.hex(digest, 64), mediaType, bytes },
    };
  }

  private body(body: RecordBody): RecordBody {
    if (body.kind === 'turn') return this.turn(body);
    if (body.kind === 'input') return this.input(body);
    return body.kind === 'checkpoint' ? this.checkpoint(body) : body;
  }

  /** Ids that follow from what a record holds are computed again; others only get another name. */
  private idOf(header: RecordHeader, body: RecordBody): string {
    if (body.kind === 'turn') return `trn_${recordHash(body).slice(0, 32)}`;
    if (body.kind === 'checkpoint') return `ckp_${recordHash(body).slice(0, 32)}`;
    if (body.kind !== 'input') return this.names.id(header.id);
    const data = body.event.data as Readonly<Record<string, unknown>>;
    if (body.event.type === 'timer.fired')
      return timerFiredId(String(data['record']), Number(data['index']));
    if (typeof data['call'] === 'string' && typeof data['claim'] === 'string')
      return outcomeId(data['call'], data['claim']);
    return this.names.id(header.id);
  }

  /** Of another session only what acceptance needs. */
  private other({ offset, header }: SourceRecord): SourceRecord {
    const { names } = this;
    const { kind, epoch, sequence, services } = header;
    return {
      offset,
      header: acceptanceHeader({
        ...{ kind, epoch, sequence, id: names.id(header.id) },
        service: otherService(header.service, names),
        services: services.map((one) => otherService(one, names)),
        incarnation: names.hex(header.incarnation, 32),
      }),
    };
  }

  record(record: SourceRecord, session: string): SourceRecord {
    const { offset, header, body: written } = record;
    if (header.session !== session || written === undefined) return this.other(record);
    const body = this.body(written);
    const id = this.idOf(header, body);
    this.names.rename(header.id, id);
    const { batchIndex } = header;
    const place = { batch: this.names.id(header.batch), batchIndex, traceparent: '' };
    const made = parseHeader(headersOf(id, body, place));
    if (made === undefined) throw new Error(`record ${header.id} has no header any more`);
    return { offset, body, header: { ...made, sequence: header.sequence, fold: header.fold } };
  }
}

/** Records of the session that could not be read are left out: nobody knows what stands in them. */
const isKept = ({ header, body }: SourceRecord, session: string): boolean =>
  header.session !== session || body !== undefined;

/** The texts of a past that is shared are another session's. */
function refuseShared({ body }: SourceRecord, session: string): void {
  if (body?.kind !== 'input' || body.past === undefined) return;
  const message = `${session} is a fork that shares the past of another session, which would not be anonymised`;
  throw new LongreinError('FORK_NOT_ANONYMISED', message, {
    fix: `anonymise the session that it was forked from, ${String(body.event.data['of'])}`,
  });
}

/**
 * The session with other names. `key` decides which; who knows it can find a name that he guesses, so it is drawn and
 * forgotten where several files need not fit together. Throws LongreinError FORK_NOT_ANONYMISED, and what the source
 * throws.
 */
export const anonymised = (source: SessionSource, key: string): Promise<SessionSource> =>
  withNames(source, new Pseudonyms(key));

/** The session with masks over personal data in its contents, labels and names of people; all else keeps its name. */
export const masked = (source: SessionSource, masks: Masks): Promise<SessionSource> =>
  withNames(source, new MaskedTexts(masks));

async function withNames(source: SessionSource, names: Pseudonyms): Promise<SessionSource> {
  const { session, acceptance, later: _later, ...rest } = source;
  const anonymiser = new Anonymiser(session, names);
  const records: SourceRecord[] = [];
  for await (const record of source.records()) {
    refuseShared(record, session);
    if (isKept(record, session)) records.push(anonymiser.record(record, session));
  }
  const owners = Object.entries(acceptance).map(([service, owner]) => {
    const incarnation = names.hex(owner.incarnation, 32);
    return [otherService(service, names), { ...owner, incarnation }];
  });
  return {
    ...rest,
    session: names.id(session),
    acceptance: Object.fromEntries(owners),
    anonymised: true,
    async *records() {
      yield* records;
    },
  };
}
