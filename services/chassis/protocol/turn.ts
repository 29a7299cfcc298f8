import type { Draft } from '../../../schemas/event.ts';
import { type FactsInput, listedCauses } from './decision.ts';
import type { RecordedFacts, TurnBody } from './record.ts';
import { recordHash, type Seal, saltOf, sealContents, sealEvent } from './seal.ts';
import type { ServiceEntry } from './service-fold.ts';
import type { AnyLogic } from './service-logic.ts';
import type { SessionCore } from './session-core.ts';

/** Who writes a turn. */
export type Author = Readonly<{ epoch: number; incarnation: string; release: string }>;

export type SealedTurn = Readonly<{ id: string; body: TurnBody }>;

export function recordFacts(
  session: string,
  facts: FactsInput,
  seal: Seal = saltOf(session),
): RecordedFacts {
  const data: { -readonly [K in keyof RecordedFacts['data']]: RecordedFacts['data'][K] } = {
    nowMs: facts.nowMs,
  };
  if (facts.delivered.length > 0) data.delivered = facts.delivered;
  if (Object.keys(facts.lost).length > 0) data.lost = facts.lost;
  if (facts.refused !== undefined) data.refused = facts.refused;
  if (facts.turnRefused !== undefined) data.turnRefused = facts.turnRefused;
  if (facts.poison !== undefined) data.poison = facts.poison;
  if (facts.origin !== undefined) data.origin = facts.origin;
  if (Object.keys(facts.service).length > 0) data.service = facts.service;
  if (Object.keys(facts.attachments).length === 0) return { data };
  const drafts = Object.fromEntries(
    Object.entries(facts.attachments).map(([name, body]) => [
      name,
      { mediaType: 'application/json', body },
    ]),
  );
  return { data, content: sealContents(seal, drafts) };
}

/** The facts of a recorded turn, as the decision saw them. Content bodies must have been read. */
export function factsOf(body: TurnBody): FactsInput {
  const { data, content } = body.facts;
  const attachments = Object.fromEntries(
    Object.entries(content ?? {}).map(([name, one]) => [name, one.body ?? null]),
  );
  return {
    nowMs: data.nowMs,
    delivered: data.delivered ?? [],
    lost: data.lost ?? {},
    ...(data.refused === undefined ? {} : { refused: data.refused }),
    ...(data.turnRefused === undefined ? {} : { turnRefused: data.turnRefused }),
    ...(data.poison === undefined ? {} : { poison: data.poison }),
    ...(data.origin === undefined ? {} : { origin: data.origin }),
    service: data.service ?? {},
    attachments,
  };
}

/** A decision that was made, and from what. */
export type Made = Readonly<{
  drafts: readonly Draft[];
  facts: FactsInput;
  author: Author;
  foreseen: readonly string[];
  /** The newest record that was in the log, where `entry` foresaw others after it. */
  base?: SessionCore['last'];
}>;

/**
 * Makes the record of a decision. Its id is a hash over everything in it but the sequence number and the batch, which
 * say how it was sent (DESIGN 2, 3.4).
 */
export function buildTurn(logic: AnyLogic, entry: ServiceEntry, made: Made): SealedTurn {
  const body = turnBody(logic, entry, made);
  return { id: turnId(body), body };
}

/** The id of a turn with this body. */
export const turnId = (body: TurnBody): string => `trn_${recordHash(body).slice(0, 32)}`;

/** What stands in the record of a decision. */
export function turnBody(
  logic: AnyLogic,
  entry: ServiceEntry,
  made: Made,
  seal: Seal = saltOf(entry.core.meta.session),
): TurnBody {
  const { core } = entry;
  const base = made.base ?? core.last;
  const { session, tenant, principal, labels } = core.meta;
  const body: TurnBody = {
    kind: 'turn',
    session,
    service: logic.name,
    epoch: made.author.epoch,
    incarnation: made.author.incarnation,
    base: base.record,
    baseOffset: base.offset,
    foreseen: made.foreseen,
    causes: listedCauses(entry).map(({ event }) => ({ record: event.record, index: event.index })),
    facts: recordFacts(session, made.facts, seal),
    behaviour: logic.behaviour,
    release: made.author.release,
    atMs: made.facts.nowMs,
    tenant,
    principal,
    labels,
    events: made.drafts.map((draft) => sealEvent(seal, draft, logic.language)),
  };
  return entry.root === undefined ? body : { ...body, root: entry.root };
}
