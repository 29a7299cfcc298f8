import type { JsonValue } from '../../../schemas/json.ts';
import { delegate, handoff } from '../../../services/chassis/catalog/delegation-tools.ts';
import { askPerson } from '../../../services/chassis/catalog/person-tool.ts';
import type { Clock } from '../../../services/chassis/host/ports.ts';
import type { GateRules } from '../../../services/model-gateway/gate/rules.ts';
import type { DayLimit } from '../../../services/model-gateway/tranche.ts';
import type { FakeAnswer, FakeTool, StartedEffect } from '../../support/memory-effects.ts';
import type { FakeModel, FakeModelAnswer } from '../../support/memory-models.ts';
import { worldTools } from '../../support/memory-tools.ts';
import { type Coverage, note } from './coverage.ts';
import { type Dice, diceOf } from './dice.ts';
import { planningModel, planSaid } from './planning-model.ts';

/** An effect that really began: the counter of its side effect went up. */
export type LedgerEntry = Readonly<{
  service: string;
  call: string;
  name: string;
  host: string;
  atMs: number;
  /** The end of every session partition at that moment: what is at or above came later. */
  ends: ReadonlyMap<string, number>;
}>;

export type EffectParts = Readonly<{
  seed: number;
  /** Share of calls that go wrong; 0 in the calm. */
  trouble(): number;
  coverage: Coverage;
  /** The world's own clock; answers come at whole multiples of `burstMs` of it, where that is not 0. */
  clock: Pick<Clock, 'nowMs'>;
  burstMs: number;
  /** Whether the process that runs it stands still: what it does will be known late. */
  frozen(): boolean;
  started: readonly StartedEffect[];
  /** Writes the newest effect down. */
  keep(effect: StartedEffect): void;
}>;

const lockFile = JSON.stringify({
  name: 'example',
  lockfileVersion: 3,
  packages: { '': { name: 'example', version: '1.0.0' } },
});

function newest(parts: EffectParts): StartedEffect {
  const effect = parts.started.at(-1);
  if (effect === undefined) throw new Error('an effect ran that nobody wrote down');
  parts.keep(effect);
  return effect;
}

function troubled(dice: Dice, coverage: Coverage): FakeAnswer | undefined {
  const kind = dice.between(0, 9);
  if (kind <= 1) {
    note(coverage, 'tool hangs');
    return { never: true };
  }
  if (kind <= 5) {
    note(coverage, 'tool fails');
    return { afterMs: dice.between(1, 300), failure: { retryable: dice.chance(0.7) } };
  }
  if (kind > 6) return undefined;
  note(coverage, 'tool unknown');
  return { afterMs: dice.between(1, 300), unknown: 'The connection broke.' };
}

/** Many answers, and timers with them, in one millisecond. */
function inBursts(afterMs: number, { clock, burstMs }: EffectParts): number {
  if (burstMs === 0) return afterMs;
  const nowMs = clock.nowMs();
  return Math.ceil((nowMs + afterMs) / burstMs) * burstMs - nowMs;
}

/** What a tool does that works, early or late. */
function worked(answer: FakeAnswer, dice: Dice, parts: EffectParts): FakeAnswer {
  const slow = dice.chance(Math.min(0.5, parts.trouble() * 1.5));
  if (slow) note(parts.coverage, 'tool slow');
  const takesMs = slow ? dice.between(300, 5_500) : dice.between(1, 30);
  if ('never' in answer) return answer;
  return { ...answer, afterMs: inBursts((answer.afterMs ?? 0) + takesMs, parts) };
}

function changed(tool: FakeTool, parts: EffectParts): FakeTool {
  return (call, count) => {
    const { name } = newest(parts);
    const dice = diceOf('tool', parts.seed, call.callId, parts.started.length);
    if (parts.frozen() && dice.chance(0.5)) return { failure: { retryable: false } };
    const often = name === 'test.flaky' ? 2 : 1;
    const wrong = dice.chance(parts.trouble() * often) && troubled(dice, parts.coverage);
    return wrong || worked(tool(call, count), dice, parts);
  };
}

export function toolsOf(parts: EffectParts): Readonly<Record<string, FakeTool>> {
  const tools = worldTools({ 'package-lock.json': lockFile });
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, changed(tool, parts)]),
  );
}

const asked: readonly Readonly<{ name: string; arguments: JsonValue }>[] = [
  { name: 'test.echo', arguments: { said: 'hello' } },
  { name: 'test.count', arguments: { counter: 'model' } },
  { name: 'test.count', arguments: { counter: 'NOT A COUNTER' } },
  { name: 'no.such.tool', arguments: {} },
];

function answer(dice: Dice, steps: number): FakeModelAnswer {
  const afterMs = dice.between(1, 400);
  if (steps > 5 || dice.chance(0.3)) return { afterMs, text: 'Nothing is new.' };
  const calls = Array.from({ length: dice.between(1, 3) }, () => dice.pick(asked));
  return { afterMs, text: 'I look.', calls };
}

/** An agent that may ask a person does so beside its other calls. */
function withQuestion(
  said: FakeModelAnswer,
  seed: number,
  { tools, messages }: Parameters<FakeModel>[0],
): FakeModelAnswer {
  const dice = diceOf('question', seed, messages.length);
  const may = tools.some(({ name }) => name === askPerson);
  if (!may || !('calls' in said) || dice.chance(0.4)) return said;
  const question = { name: askPerson, arguments: { question: 'What now?' } };
  const wrong = { name: askPerson, arguments: { question: 7 } };
  return { ...said, calls: [...(said.calls ?? []), dice.chance(0.9) ? question : wrong] };
}

const given: readonly Readonly<{ name: string; arguments: JsonValue }>[] = [
  { name: delegate, arguments: { agent: 'counter', goal: 'Count.', input: { counter: 'given' } } },
  {
    name: delegate,
    arguments: { agent: 'pair-asker', goal: 'Ask.', input: { question: 'What?' } },
  },
  { name: delegate, arguments: { agent: 'giver', goal: 'Give.', budgetPercent: 30 } },
  { name: delegate, arguments: { agent: 'nobody', goal: 'Give.' } },
  { name: delegate, arguments: { agent: 'giver', goal: 'Give.', budgetPercent: 90 } },
];

/** The model of an agent that gives work to those whose templates have breakers (brittle-giver.yaml). */
const brittleGiver = 'scripted/brittle-giver';

const givenToBrittle: typeof given = ['brittle-waiter', 'brittle-failer', 'brittle-giver'].map(
  (agent) => ({ name: delegate, arguments: { agent, goal: 'Give.', input: { name: 'given' } } }),
);

/** An agent that may give work away does so beside its other calls, or hands its task on. */
function withGiving(
  said: FakeModelAnswer,
  seed: number,
  { tools, messages, model }: Parameters<FakeModel>[0],
): FakeModelAnswer {
  const dice = diceOf('giving', seed, messages.length);
  const may = tools.some(({ name }) => name === delegate);
  if (!may || !('calls' in said)) return said;
  const work = model === brittleGiver ? givenToBrittle : given;
  if (dice.chance(0.2)) {
    const others = model === brittleGiver ? ['brittle-waiter'] : ['giver', 'counter'];
    const to = { agent: dice.pick(others), summary: 'Begun.' };
    const call = { name: handoff, arguments: to };
    return { ...said, calls: dice.chance(0.8) ? [call] : [call, ...(said.calls ?? [])] };
  }
  return { ...said, calls: [...(said.calls ?? []), dice.pick(work), dice.pick(work)] };
}

function saidTo(request: Parameters<FakeModel>[0], dice: Dice, seed: number): FakeModelAnswer {
  const { messages, model } = request;
  if (model === planningModel) return planSaid(seed, messages.length);
  return withGiving(withQuestion(answer(dice, messages.length), seed, request), seed, request);
}

/** A model that asks for tools, good and bad, and then answers. */
export function modelOf(parts: EffectParts): FakeModel {
  return (request) => {
    const { call } = newest(parts);
    const dice = diceOf('model', parts.seed, call, parts.started.length);
    if (dice.chance(parts.trouble())) {
      note(parts.coverage, 'model fails');
      const retryable = dice.chance(0.8);
      return { afterMs: dice.between(1, 200), failure: { code: 'OVERLOADED', retryable } };
    }
    const said = saidTo(request, dice, parts.seed);
    return { ...said, afterMs: inBursts(said.afterMs ?? 0, parts) };
  };
}

/** Few calls at once, and a breaker that opens soon: what waits, goes on elsewhere or is given up. */
export const gateRules: GateRules = {
  providers: { scripted: { concurrentMax: 2 } },
  tenants: {},
  breaker: { failuresMax: 2, coolMs: 1_500 },
};

/** Enough for most of a run: what comes late is refused. */
export const dayBudget: DayLimit = { limitNanoUsd: 9_000, trancheNanoUsd: 4_000 };
