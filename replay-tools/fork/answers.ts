import { type Draft, event, type InputEventType, json, text } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { isServerCheck } from '../../services/chassis/catalog/server-checks.ts';
import {
  outcomes as outcomeTypes,
  replayedPrice,
} from '../../services/chassis/protocol/event-kinds.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import type { OpenCall } from '../../services/chassis/protocol/service-logic.ts';
import type { Happening, History } from '../read/history.ts';
import { dataOf, numberIn, textIn } from '../read/history.ts';

/** Who answers the calls of a rehearsal: mocks first, else the record. Never the world. */

/** A call that a rehearsal made. `given`: arguments of a tool; the whole window of a model. */
export type Call = Readonly<{
  kind: 'tool' | 'model';
  call: string;
  agent: string;
  /** Name of the tool or the model. */
  name: string;
  given: JsonValue;
  /** Counts the calls of its agent with this name and this given, from 0: equal calls are told apart by it. */
  ordinal: number;
  claim: Pick<OpenCall, 'claim' | 'attempt'>;
}>;

export type Mock = Readonly<{
  tool?: string;
  model?: string;
  agent?: string;
  /** Members that the arguments must have, with these values. */
  arguments?: JsonObject;
  result?: JsonValue;
  failure?: Readonly<{ code: string; message: string; retryable?: boolean }>;
  text?: string;
  calls?: readonly Readonly<{ name: string; arguments: JsonValue }>[];
}>;

export type Answer = Readonly<{
  draft: Draft<InputEventType>;
  afterMs: number;
  from: 'record' | 'mock' | 'live';
}>;

/** Answers a call; undefined where nobody can. */
export type Answerer = (call: Call) => Answer | undefined;

const holdsAll = (given: JsonValue, wanted: JsonObject): boolean =>
  typeof given === 'object' &&
  given !== null &&
  Object.entries(wanted).every(
    ([name, value]) => canonical((given as JsonObject)[name]) === canonical(value),
  );

function fits(mock: Mock, { kind, name, agent, given }: Call): boolean {
  if ((kind === 'tool' ? mock.tool : mock.model) !== name) return false;
  const ofAgent =
    mock.agent === undefined || agent === mock.agent || agent.startsWith(`${mock.agent}.`);
  return ofAgent && (mock.arguments === undefined || holdsAll(given, mock.arguments));
}

const noTokens = {
  ...{ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  ...{ reasoningTokens: 0, costNanoUsd: 0, costKnown: true, priceVersion: 'mock' },
};

function mockedTool({ call, name, claim }: Call, { failure, result = null }: Mock) {
  const head = { call, claim: '', attempt: claim.attempt, tool: name, durationMs: 0 };
  if (failure === undefined) return event('tool.completed', head, { result: json(result) });
  const { code, message, retryable = false } = failure;
  const data = { ...head, code, class: 'tool-error' as const, retryable };
  return event('tool.failed', data, { message: text(message) });
}

function mockedModel({ call, name, claim }: Call, mock: Mock) {
  const { failure, text: said = '', calls = [] } = mock;
  const provider = name.slice(0, Math.max(0, name.indexOf('/'))) || 'mock';
  const head = { call, claim: '', attempt: claim.attempt, provider, model: name, durationMs: 0 };
  if (failure !== undefined) {
    const { code, message, retryable = false } = failure;
    const data = { ...head, ...noTokens, code, class: 'provider-error' as const, retryable };
    return event('model.failed', data, { message: text(message) });
  }
  const toolCalls = calls.map((one, index) => ({ id: `${call}-${index}`, ...one }));
  const finishReason = toolCalls.length === 0 ? ('stop' as const) : ('tool-calls' as const);
  const data = { ...head, ...noTokens, finishReason, toolCalls: toolCalls.length };
  return event('model.completed', data, {
    message: json({ text: said, toolCalls } as unknown as JsonValue),
  });
}

/** Nothing is run in a rehearsal: an agent that the record does not know needs no server that is well. */
export const serversAreWell: Answerer = (call) =>
  call.kind === 'tool' && isServerCheck(call.name)
    ? { draft: mockedTool(call, { result: { asked: false } }), afterMs: 0, from: 'mock' }
    : undefined;

/** Answers from the first mock that fits. */
export const mocked =
  (mocks: readonly Mock[]): Answerer =>
  (call) => {
    const mock = mocks.find((one) => fits(one, call));
    if (mock === undefined) return undefined;
    const draft = call.kind === 'tool' ? mockedTool(call, mock) : mockedModel(call, mock);
    return { draft, afterMs: 0, from: 'mock' };
  };

const keyOf = ({ kind, agent, name, given, ordinal }: Omit<Call, 'call' | 'claim'>): string =>
  canonical([kind, agent, name, given, ordinal]);

/** Where an outcome names a price, its money was paid by the session that it is repeated from. */
const repeatedPrice = (outcome: Happening) =>
  textIn(outcome, 'priceVersion') === '' ? {} : { priceVersion: replayedPrice };

/** The outcome of a recorded call as the outcome of this one. */
function repeated(outcome: Happening, { call, claim }: Call): Answer {
  const contents = Object.entries(outcome.event.content).map(([name, content]) => {
    const { mediaType, body } = content as { mediaType: string; body?: JsonValue };
    return [name, { mediaType, body: body ?? null }];
  });
  const own = { call, claim: '', attempt: claim.attempt, ...repeatedPrice(outcome) };
  const data = { ...dataOf(outcome), ...own };
  const draft = { type: outcome.event.type, data, content: Object.fromEntries(contents) };
  return {
    draft: draft as unknown as Draft<InputEventType>,
    afterMs: numberIn(outcome, 'durationMs') ?? 0,
    from: 'record',
  };
}

/** Calls of the record, told the same way as those of a rehearsal. */
export type RecordedCall = Omit<Call, 'claim'>;

/** Answers as the record does: to the same call of the same agent, counted, so that equal calls keep their own. */
export function recorded(history: History, calls: readonly RecordedCall[]): Answerer {
  const outcomes = new Map<string, Happening>();
  const claimed = (call: string, attempt: number | undefined): string => `${call} ${attempt ?? 1}`;
  for (const one of history.whole)
    if (outcomeTypes.has(one.event.type))
      outcomes.set(claimed(textIn(one, 'call'), numberIn(one, 'attempt')), one);
  const byKey = new Map<string, string>(calls.map((one) => [keyOf(one), one.call]));
  return (call) => {
    const known = byKey.get(keyOf(call)) ?? '';
    const outcome = outcomes.get(claimed(known, call.claim.attempt));
    return outcome === undefined ? undefined : repeated(outcome, call);
  };
}

/** The first that can answer. */
export const firstOf =
  (...answerers: readonly Answerer[]): Answerer =>
  (call) => {
    for (const answerer of answerers) {
      const answer = answerer(call);
      if (answer !== undefined) return answer;
    }
    return undefined;
  };
