import { type Draft, event, text } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import { LongreinError, toError } from '../errors.ts';
import { canonical } from './hash.ts';
import type { ServiceEntry } from './service-fold.ts';
import {
  type AnyLogic,
  addressOf,
  type DecideInput,
  type Delivery,
  type LostReason,
} from './service-logic.ts';
import { problemOfDraft } from './validate.ts';

/** All from outside the log that one decision uses. The turn records it; `verify` decides again from it. */
export type FactsInput = Readonly<{
  nowMs: number;
  /** Addresses of events whose deliveries were acknowledged. */
  delivered: readonly string[];
  lost: Readonly<Record<string, LostReason>>;
  service: JsonObject;
  attachments: Readonly<Record<string, JsonValue>>;
}>;

export const noFacts = (nowMs: number): FactsInput => ({
  nowMs,
  delivered: [],
  lost: {},
  service: {},
  attachments: {},
});

const destinationOf = (delivery: Delivery): string =>
  delivery.to === 'log' ? `${delivery.topic}/${delivery.session}` : delivery.topic;

function acknowledgements(
  logic: AnyLogic,
  entry: ServiceEntry,
  delivered: readonly string[],
): Draft[] {
  return delivered.flatMap((address) => {
    const sent = entry.outbox[address];
    if (sent === undefined || logic.deliveries === undefined) return [];
    const destinations = logic.deliveries(sent, entry.core.meta).map(destinationOf);
    return [
      event('delivery.acknowledged', { record: sent.record, index: sent.index, destinations }),
    ];
  });
}

function inputOf(entry: ServiceEntry, facts: FactsInput): DecideInput {
  return {
    session: entry.core.meta,
    nowMs: facts.nowMs,
    facts: facts.service,
    attachments: facts.attachments,
    causes: entry.causes.map((cause) => cause.event),
    openCalls: ablated('8d') ? {} : entry.core.calls,
    lost: facts.lost,
  };
}

function failed(service: string, thrown: unknown): Draft[] {
  const error = toError(thrown);
  const code = error instanceof LongreinError ? error.code : 'DECISION_THREW';
  return [event('decision.failed', { service, code }, { message: text(error.message) })];
}

/** What a content takes in a record when its body is in a blob. */
const contentNameBytes = 256;
/** Fewer events than this never fill a record: their data is bounded by their schemas. */
const eventsUnmeasured = 100;

/** DESIGN 3.2: a turn that no record can hold, all its contents in blobs, is found before it is sent. */
function refuseTooLarge(drafts: readonly Draft[]): void {
  if (drafts.length <= eventsUnmeasured) return;
  const bytes = drafts.reduce((sum, { type, data, content }) => {
    const contents = Object.keys(content ?? {}).length * contentNameBytes;
    return sum + type.length + canonical(data).length + contents;
  }, 0);
  if (drafts.length <= limits.turnEventsMax && bytes <= limits.turnBytesMax) return;
  const message = `${drafts.length} events of ${bytes} bytes do not fit into one turn`;
  throw new LongreinError('TURN_TOO_LARGE', message);
}

function ofLogic(logic: AnyLogic, entry: ServiceEntry, facts: FactsInput): readonly Draft[] {
  if (entry.core.failed.includes(logic.name)) return [];
  if (entry.broken !== undefined) {
    return failed(logic.name, new LongreinError(entry.broken.code, entry.broken.message));
  }
  try {
    const drafts = logic.decide(entry.state, inputOf(entry, facts));
    for (const draft of drafts) {
      const problem = problemOfDraft(draft);
      if (problem !== undefined) throw new LongreinError('EVENT_INVALID', problem);
    }
    refuseTooLarge(drafts);
    return drafts;
  } catch (thrown) {
    return ablated('14b') ? [] : failed(logic.name, thrown);
  }
}

/**
 * What a service decides now: a pure function of its entry and the facts. A decision that throws is a fact of its
 * own (`decision.failed`, DESIGN 3.14); the service then decides no more in this session.
 */
export function decideEntry(
  logic: AnyLogic,
  entry: ServiceEntry,
  facts: FactsInput,
): readonly Draft[] {
  if (entry.core.status !== 'open') return [];
  return [...acknowledgements(logic, entry, facts.delivered), ...ofLogic(logic, entry, facts)];
}

export const causeAddresses = (entry: ServiceEntry): readonly string[] =>
  entry.causes.map((cause) => addressOf(cause.event));
