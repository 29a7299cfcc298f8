import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { FactsInput } from '../../services/chassis/protocol/decision.ts';
import {
  changeEvent,
  type Setting,
  saysOf,
} from '../../services/chassis/protocol/pinned-changes.ts';
import type { PlacedRecord } from '../../services/chassis/protocol/record.ts';

export type { Policy, Setting } from '../../services/chassis/protocol/pinned-changes.ts';

/** What a fork or a backtest has otherwise: changes of what a session pinned, seen by every service alike. */

export type Candidate = Readonly<{
  /** What it changes, for people; empty: nothing. */
  says: readonly string[];
  /** The record as the services see it. */
  record(record: PlacedRecord): PlacedRecord;
  /** The record as one service alone sees it; undefined where it sees what all see. */
  ofService?(service: string, record: PlacedRecord): PlacedRecord | undefined;
  /** The facts as a decision sees them. */
  facts(facts: FactsInput): FactsInput;
  /** Events after which a change comes too late, with what settles it. */
  tooLateAfter: Readonly<Record<string, string>>;
}>;

export const unchanged: Candidate = {
  says: [],
  record: (record) => record,
  facts: (facts) => facts,
  tooLateAfter: {},
};

function changeRecord(record: PlacedRecord, settings: readonly Setting[]): PlacedRecord {
  const { body } = record;
  if (body.kind === 'input')
    return { ...record, body: { ...body, event: changeEvent(body.event, settings) } };
  if (body.kind !== 'turn') return record;
  return {
    ...record,
    body: { ...body, events: body.events.map((one) => changeEvent(one, settings)) },
  };
}

/** Another plan is another fact of the planner. */
function changeFacts(facts: FactsInput, settings: readonly Setting[]): FactsInput {
  const { catalog } = facts.attachments;
  const plan = settings.find((one) => one.what === 'plan')?.plan;
  if (catalog === undefined || plan === undefined) return facts;
  const changed = { ...(catalog as JsonObject), plan: plan as unknown as JsonValue };
  return { ...facts, attachments: { ...facts.attachments, catalog: changed } };
}

/** What these settings make of a session. */
export function candidateOf(settings: readonly Setting[]): Candidate {
  if (settings.length === 0) return unchanged;
  const has = (what: Setting['what']): boolean => settings.some((one) => one.what === what);
  const shared = settings.filter(({ what }) => what !== 'policy');
  return {
    says: settings.map(saysOf),
    record: (record) => (shared.length === 0 ? record : changeRecord(record, shared)),
    // Who asks for a tool does not know what the guard will say.
    ofService: (service, record) =>
      has('policy') && service === 'tool-guard' ? changeRecord(record, settings) : undefined,
    facts: (facts) => changeFacts(facts, settings),
    tooLateAfter: {
      ...(has('plan') ? { 'plan.accepted': 'the plan is settled' } : {}),
      ...(has('input') ? { 'task.scheduled': 'tasks have got their inputs' } : {}),
    },
  };
}
