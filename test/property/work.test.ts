import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SeenEvent } from '../../schemas/event.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import { eventsOf, modelAgent, openWork, procedure, schedule } from '../support/work-fixtures.ts';
import { countOf, logics, WorkWorld } from '../support/work-world.ts';

const used = ['read', 'write', 'put', 'run', 'sum'];
const agents = [
  procedure({
    tools: used,
    steps: used.map((tool) => ({ id: tool, tool, arguments: { path: '=input.path' } })),
    output: '=steps',
  }),
  procedure({ name: 'twice', steps: ['a', 'b'].map(sameStep) }),
  modelAgent({ tools: used }),
];

function sameStep(id: string) {
  return { id, tool: 'read', arguments: { path: 'same' } };
}

/** A session of three agents, driven by these choices and then let run to its end. */
function run(choices: readonly number[]): WorkWorld {
  const world = new WorkWorld();
  openWork(world.bench, { agents });
  for (const { name } of agents) schedule(world.bench, name);
  for (const choice of choices) world.step(choice);
  world.drain();
  return world;
}

const choices = fc.array(fc.nat(100_000), { maxLength: 250, size: 'max' });
const isOver = (events: readonly SeenEvent[], task: string, attempt: number): boolean =>
  events.some(
    (one) =>
      one.type === 'session.cancelled' ||
      (one.type === 'task.timed-out' && one.data.task === task && one.data.attempt === attempt),
  );

/** Every requested tool call gets one answer of the guard, and one end. */
function callsEnd(_world: WorkWorld, events: readonly SeenEvent[]): void {
  for (const { data } of eventsOf(events, 'tool.requested')) {
    const { call, task, attempt } = data;
    expect(countOf(events, ['tool.permitted', 'tool.denied'], { call })).toBe(1);
    const denied = countOf(events, ['tool.denied'], { call });
    const outcomes = countOf(events, ['tool.completed', 'tool.failed'], { call });
    const unknown = countOf(events, ['tool.unknown'], { call });
    if (!isOver(events, task, attempt)) expect(denied + Math.max(outcomes, unknown)).toBe(1);
    expect(denied + outcomes).toBeLessThanOrEqual(1);
    expect(denied + unknown).toBeLessThanOrEqual(1);
  }
}

/** What may not run twice is started at most once, and nothing more than three times. */
function repeatsAreSafe(world: WorkWorld, events: readonly SeenEvent[]): void {
  for (const { data } of eventsOf(events, 'tool.permitted')) {
    const most = data.effect === 'at-most-once' ? 1 : 3;
    expect(world.started[data.call] ?? 0).toBeLessThanOrEqual(most);
    expect(countOf(events, ['tool.claimed'], { call: data.call })).toBeLessThanOrEqual(most);
  }
}

/** Nothing stays open: no claim, no sandbox, no effect. */
function nothingStaysOpen(world: WorkWorld, events: readonly SeenEvent[]): void {
  expect(world.openCalls()).toEqual([]);
  expect(world.running).toEqual([]);
  for (const { data } of eventsOf(events, 'sandbox.leased')) {
    expect(countOf(events, ['sandbox.released'], { sandbox: data.sandbox })).toBe(1);
  }
}

/** Every agent begins once and ends once, and its task has one outcome unless it was stopped. */
function agentsEnd(_world: WorkWorld, events: readonly SeenEvent[]): void {
  for (const { data } of eventsOf(events, 'agent.created')) {
    const { agent, task, attempt } = data;
    const ends = countOf(events, ['agent.completed', 'agent.failed'], { agent });
    const cancelled = countOf(events, ['agent.cancelled'], { agent });
    expect(countOf(events, ['agent.created'], { agent })).toBe(1);
    expect(ends + cancelled).toBe(1);
    expect(countOf(events, ['agent.cleaned-up'], { agent })).toBe(1);
    const outcomes = countOf(events, ['task.completed', 'task.failed'], { task, attempt });
    expect(outcomes).toBe(ends);
    if (!isOver(events, task, attempt)) expect(cancelled).toBe(0);
  }
}

/** An agent does nothing after its end. */
function endedAgentsAreSilent(_world: WorkWorld, events: readonly SeenEvent[]): void {
  const over = new Set<string>();
  for (const one of events) {
    if ('agent' in one.data && one.type !== 'task.scheduled') {
      expect(over.has(one.data.agent), `${one.type} of ${one.data.agent}`).toBe(false);
    }
    if (one.type === 'agent.cleaned-up') over.add(one.data.agent);
  }
}

/** Every call has an id of its own, equal calls too. */
function idsDiffer(_world: WorkWorld, events: readonly SeenEvent[]): void {
  const asked = [...eventsOf(events, 'tool.requested'), ...eventsOf(events, 'model.requested')];
  const ids = asked.map((one) => one.data.call);
  expect(new Set(ids).size).toBe(ids.length);
}

/** An event that changes nothing leaves the very state (S1), and every prefix of the log folds. */
function unchangedStatesStay(_world: WorkWorld, events: readonly SeenEvent[]): void {
  for (const logic of logics) {
    let state: unknown = logic.initial();
    for (const one of events) {
      const next: unknown = logic.evolve(state as never, one);
      if (next === state) continue;
      expect(canonical(next), `${logic.name} on ${one.type}`).not.toBe(canonical(state));
      state = next;
    }
  }
}

const rules = [
  unchangedStatesStay,
  callsEnd,
  repeatsAreSafe,
  nothingStaysOpen,
  agentsEnd,
  endedAgentsAreSilent,
  idsDiffer,
];

test('whatever the order of turns, losses, answers and ends, the rules of work hold', () => {
  fc.assert(
    fc.property(choices, (taken) => {
      const world = run(taken);
      for (const rule of rules) rule(world, world.bench.events);
    }),
    { numRuns: 150 },
  );
});

test('an undisturbed session completes all its tasks', () => {
  const { bench } = run([]);
  expect(
    eventsOf(bench.events, 'task.completed')
      .map((one) => one.data.task)
      .sort(),
  ).toEqual(agents.map((agent) => agent.name).sort());
});
