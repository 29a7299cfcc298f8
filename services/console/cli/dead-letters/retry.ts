/**
 * What a retry of a dead letter does, or why there is none. Pure.
 *
 * R1 A retry is asked for twice with the same effect as once: the ids of what it writes follow from the letter.
 * R2 No effect that may have happened is run again: a session with such a call is not begun anew.
 */
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import { goalsTopic } from '../../../../schemas/topics.ts';
import { createFixedCodec } from '../../../chassis/log/codec.ts';
import type { InputBody, RecordBody } from '../../../chassis/protocol/record.ts';
import type { Letter } from './letter.ts';

export type Retry =
  | Readonly<{ as: 'goal'; goalId: string; body: JsonObject }>
  /** The record as it was, at the end of its topic: its id makes it count once. */
  | Readonly<{
      as: 'record';
      topic: string;
      key: string;
      headers: Record<string, string>;
      value: Uint8Array;
    }>
  | Readonly<{ as: 'none'; because: string; fix: string }>;

const none = (because: string, fix: string): Retry => ({ as: 'none', because, fix });

const discard = ({ id }: Letter): string => `longrein dead-letters discard ${id} --reason "WHY"`;

/** The same for the same letter: a repeated retry follows the goal of the first. */
const goalIdFor = (letter: Letter, before: string): string =>
  `${before.slice(0, 100)}-retry-${letter.id.slice(-8)}`;

const textOf = (original: string): string => Buffer.from(original, 'base64').toString('utf8');

/** Whether a letter is about a session whose service could not decide: its retry needs the log of that session. */
export const needsSession = ({ service, session }: Letter): boolean =>
  service !== undefined && session?.startsWith('ses_') === true;

/** For every letter but those of failed decisions. */
export function retryOf(letter: Letter): Retry {
  if (letter.service !== undefined)
    return none(
      `${letter.session} is no session of a goal`,
      'Look at its log with `longrein replay`; what it was asked has to be asked again.',
    );
  if (letter.original === undefined)
    return none(
      'the letter holds no bytes of the record',
      `Ask for it again where it came from; then: ${discard(letter)}`,
    );
  return letter.origin.topic === goalsTopic ? goalAgain(letter) : recordAgain(letter);
}

function goalAgain(letter: Letter): Retry {
  const goal = parsed(textOf(letter.original ?? ''));
  if (goal === undefined || 'cancel' in goal)
    return none(
      'its bytes are no goal',
      `Correct it and submit it: longrein goal submit --file FILE; then: ${discard(letter)}`,
    );
  const before = letter.goalId ?? (typeof goal['id'] === 'string' ? goal['id'] : 'goal');
  const goalId = goalIdFor(letter, before);
  return { as: 'goal', goalId, body: { ...goal, id: goalId } };
}

/** JSON as it was published, framed or plain. */
function parsed(text: string): JsonObject | undefined {
  const start = text.indexOf('{');
  if (start < 0) return undefined;
  try {
    return JSON.parse(text.slice(start)) as JsonObject;
  } catch {
    // It was rejected for that.
    return undefined;
  }
}

function recordAgain(letter: Letter): Retry {
  const { headers = {}, key = '', original = '', origin } = letter;
  if (headers['lr_kind'] === undefined)
    return none(
      'the record is of another program',
      `Find out who writes to ${origin.topic}; then: ${discard(letter)}`,
    );
  if (headers['lr_kind'] !== 'input')
    return none(
      `a ${headers['lr_kind']} counts at its own place only`,
      `Its service has decided again since; then: ${discard(letter)}`,
    );
  const value = Buffer.from(original, 'base64');
  const problem = problemOf(value);
  if (problem !== undefined)
    return none(
      `the record still cannot be read: ${problem}`,
      `Who wrote it has to write it again; then: ${discard(letter)}`,
    );
  return { as: 'record', topic: origin.topic, key, headers: { ...headers }, value };
}

function problemOf(value: Uint8Array): string | undefined {
  try {
    const body = createFixedCodec().decode(value).body as { kind?: unknown; event?: unknown };
    return body.kind === 'input' && typeof body.event === 'object'
      ? undefined
      : 'it has not the shape of an input';
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

type Call = { tool: string; effect: string; claimed: boolean; outcome: string };

const settling: ReadonlySet<string> = new Set(['tool.completed', 'tool.failed', 'tool.unknown']);

/** Calls that somebody claimed, also in turns that do not count: they may have happened. */
function callsIn(bodies: readonly RecordBody[]): ReadonlyMap<string, Call> {
  const calls = new Map<string, Call>();
  for (const body of bodies) {
    const events = body.kind === 'turn' ? body.events : body.kind === 'input' ? [body.event] : [];
    for (const { type, data } of events) {
      const { call: id, tool, effect } = data as Readonly<Record<string, JsonValue | undefined>>;
      if (!type.startsWith('tool.') || typeof id !== 'string') continue;
      const call = calls.get(id) ?? {
        tool: '',
        effect: 'at-most-once',
        claimed: false,
        outcome: 'unknown',
      };
      if (typeof tool === 'string') call.tool = tool;
      if (type === 'tool.permitted' && typeof effect === 'string') call.effect = effect;
      if (type === 'tool.claimed') call.claimed = true;
      if (settling.has(type)) call.outcome = type.slice('tool.'.length);
      calls.set(id, call);
    }
  }
  return calls;
}

const repeatable: ReadonlySet<string> = new Set(['read-only', 'idempotent']);

/** A session that failed is begun anew as another goal, where nothing was done in it that must not be done twice. */
export function retryOfSession(letter: Letter, bodies: readonly RecordBody[]): Retry {
  const risky = [...callsIn(bodies).values()].filter(
    ({ claimed, effect }) => claimed && !repeatable.has(effect),
  );
  if (risky.length > 0) {
    const some = risky.slice(0, 3).map(({ tool, outcome }) => `${tool} (${outcome})`);
    return none(
      `the session called what must not be called twice: ${some.join(', ')}`,
      `Find out what was done: longrein replay verify ${letter.session}; then ask for the rest as a goal of its own.`,
    );
  }
  const opening = bodies.find(
    (body): body is InputBody => body.kind === 'input' && body.event.type === 'session.opened',
  );
  if (opening === undefined)
    return none(
      'the opening of its session is not in the log any more',
      'Ask for it again: longrein goal submit',
    );
  return goalOf(letter, opening);
}

const copied = [
  'plan',
  'key',
  'priority',
  'timeoutMs',
  'budgetNanoUsd',
  'valueNanoUsd',
  'agentPools',
  'riskMax',
] as const;

function goalOf(letter: Letter, { event, tenant, principal, labels }: InputBody): Retry {
  const data = event.data as Readonly<Record<string, JsonValue | undefined>>;
  const { goal, inputs, context } = event.content ?? {};
  if (goal?.body === undefined)
    return none(
      'the text of its goal is not there any more',
      'Ask for it again: longrein goal submit',
    );
  const goalId = goalIdFor(letter, String(data['goalId'] ?? 'goal'));
  const given = copied.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]]));
  const body = {
    ...{ id: goalId, goal: goal.body, tenant, labels },
    ...(principal === '' ? {} : { principal }),
    ...(inputs?.body === undefined ? {} : { inputs: inputs.body }),
    ...(context?.body === undefined ? {} : { context: context.body }),
    ...Object.fromEntries(given),
  };
  return { as: 'goal', goalId, body: body as JsonObject };
}
