import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { FactsInput } from '../../services/chassis/protocol/decision.ts';
import type { ServiceEntry } from '../../services/chassis/protocol/service-fold.ts';
import { factsOf } from '../../services/chassis/protocol/turn.ts';
import { callsToQuote, type ModelGatewayState } from '../../services/model-gateway/decide.ts';
import type { History } from '../read/history.ts';
import { isPlaced } from '../read/session.ts';

/** What services knew from outside the log, as far as the record tells it. */

const withoutRecord: Readonly<Record<string, JsonObject>> = {
  'sandbox-executor': { isolation: 'rehearsal' },
  'model-gateway': { providers: [] },
  planner: { plans: [], pools: [], problems: [] },
};

/** The newest facts of each service. */
export function recordedFacts(history: History): ReadonlyMap<string, FactsInput> {
  const found = new Map<string, FactsInput>();
  for (const { record, verdict } of history.judged.records) {
    if (verdict !== 'effective' || !isPlaced(record) || record.body.kind !== 'turn') continue;
    found.set(record.body.service, factsOf(record.body));
  }
  return found;
}

const free = { costNanoUsd: 0, known: true, priceVersion: 'rehearsal' };

/** Models that a candidate names are taken to be set up; prices are those that the record has. */
function gatewayFacts(known: JsonObject, { state }: ServiceEntry): JsonObject {
  const gateway = state as ModelGatewayState;
  const providers = new Set((known['providers'] as readonly string[] | undefined) ?? []);
  for (const { model } of Object.values(gateway.calls)) {
    const slash = model.indexOf('/');
    if (slash > 0) providers.add(model.slice(0, slash));
  }
  const quotes = Object.values((known['quotes'] as JsonObject | undefined) ?? {});
  const quote = (quotes.at(-1) as JsonObject | undefined) ?? free;
  const asked = callsToQuote(gateway).map(({ call, inputTokensMost }) => [
    call,
    { ...quote, inputTokensMost },
  ]);
  return {
    ...known,
    providers: [...providers].sort(),
    ...(asked.length === 0 ? {} : { quotes: Object.fromEntries(asked) as JsonObject }),
  };
}

/** Facts for a decision that the record does not have. */
export function factsFor(
  service: string,
  entry: ServiceEntry,
  at: Readonly<{ nowMs: number; recorded: ReadonlyMap<string, FactsInput> }>,
): FactsInput {
  const known = at.recorded.get(service);
  const own = known?.service ?? withoutRecord[service] ?? {};
  const attachments: Readonly<Record<string, JsonValue>> = known?.attachments ?? {};
  return {
    nowMs: at.nowMs,
    delivered: Object.keys(entry.outbox),
    lost: {},
    service: service === 'model-gateway' ? gatewayFacts(own, entry) : own,
    attachments,
  };
}
