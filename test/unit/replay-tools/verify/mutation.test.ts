import { beforeAll, expect, test } from 'vitest';
import { type LogicLookup, releaseLogics } from '../../../../replay-tools/verify/logics.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import type { Draft, EventType } from '../../../../schemas/event.ts';
import { sinksTopic } from '../../../../schemas/topics.ts';
import type { AnyLogic } from '../../../../services/chassis/protocol/service-logic.ts';
import { type RecordedWorld, recordWorld, type Scenario } from '../../../support/recorded-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

/** A change of one decision in the code of each service: verify of a recorded session has to find it. */

type Mutation = Readonly<{
  service: string;
  scenario: Scenario | 'sink' | 'goal log';
  type: EventType;
  change(data: Record<string, unknown>): Record<string, unknown>;
  pointer: string;
}>;

const more = (name: string) => ({
  change: (data: Record<string, unknown>) => ({ ...data, [name]: Number(data[name]) + 1 }),
  pointer: `/data/${name}`,
});

const mutations: readonly Mutation[] = [
  { service: 'intake', scenario: 'goal log', type: 'goal.admitted', ...more('openedAtMs') },
  {
    service: 'planner',
    scenario: 'simple',
    type: 'plan.accepted',
    change: (data) => ({ ...data, digest: 'another' }),
    pointer: '/data/digest',
  },
  { service: 'supervisor', scenario: 'retried', type: 'task.retry-scheduled', ...more('dueAtMs') },
  { service: 'worker-pool:test', scenario: 'asked', type: 'model.requested', ...more('step') },
  { service: 'model-gateway', scenario: 'asked', type: 'model.claimed', ...more('deadlineAtMs') },
  {
    service: 'tool-guard',
    scenario: 'denied',
    type: 'tool.denied',
    change: (data) => ({ ...data, check: 'known' }),
    pointer: '/data/check',
  },
  { service: 'tool-runner', scenario: 'simple', type: 'tool.claimed', ...more('attempt') },
  {
    service: 'sandbox-executor',
    scenario: 'retried',
    type: 'sandbox.leased',
    change: (data) => ({ ...data, isolation: 'none' }),
    pointer: '/data/isolation',
  },
  { service: 'aggregator', scenario: 'failing', type: 'result.published', ...more('costNanoUsd') },
  { service: 'event-store', scenario: 'sink', type: 'range.fixed', ...more('to') },
];

let recorded: RecordedWorld;

beforeAll(async () => {
  recorded = await recordWorld({ hosts: [['all'], ['event-store']] });
});

function sessionOf(scenario: Mutation['scenario']): string {
  if (scenario === 'goal log') return recorded.goals.simple.goalLog;
  if (scenario !== 'sink') return recorded.goals[scenario].session;
  const ranges = recorded.world
    .records(sinksTopic)
    .filter(({ headers }) => headers['lr_types'] === 'range.fixed');
  return ranges[0]?.headers['ce_subject'] ?? '';
}

function mutated({ service, type, change }: Mutation): LogicLookup {
  return (name) => {
    const logic = releaseLogics(name);
    if (logic === undefined || name !== service) return logic;
    const decide: AnyLogic['decide'] = (state, input) =>
      logic.decide(state, input).map((draft) => {
        if (draft.type !== type) return draft;
        return { ...draft, data: change(draft.data as Record<string, unknown>) } as Draft;
      });
    return { ...logic, decide };
  };
}

test.each(mutations)('a changed decision of $service is found: $type', async (mutation) => {
  const source = await sourceFromWorld(recorded.world, sessionOf(mutation.scenario));
  expect(await verifySession(source)).toMatchObject({ identical: true });
  const report = await verifySession(source, mutated(mutation));
  expect(report.identical).toBe(false);
  const [first] = report.differences;
  const { service, type, pointer } = mutation;
  expect(first).toMatchObject({
    kind: 'decision',
    service,
    eventType: type,
    behaviour: 1,
    release: '0.0.0-world',
  });
  expect(first?.record).toMatch(/^trn_[0-9a-f]{32}$/);
  expect(first?.changes[0]?.pointer).toBe(`/events/${first?.eventIndex}${pointer}`);
  expect(first?.changes[0]?.expected).not.toBe(first?.changes[0]?.actual);
  expect(report.differences.every((one) => one.service === service)).toBe(true);
});

test('a decision that is not made any more, and one that is made too, are found', async () => {
  const source = await sourceFromWorld(recorded.world, recorded.goals.simple.session);
  const change = (decide: (drafts: readonly Draft[]) => readonly Draft[]) => (name: string) => {
    const logic = releaseLogics(name);
    if (logic === undefined || name !== 'supervisor') return logic;
    const changed: AnyLogic['decide'] = (state, input) => decide(logic.decide(state, input));
    return { ...logic, decide: changed };
  };
  const none = await verifySession(
    source,
    change(() => []),
  );
  expect(none.differences[0]).toMatchObject({
    service: 'supervisor',
    eventIndex: 0,
    eventType: 'task.scheduled',
  });
  expect(none.differences[0]?.message).toBe('this release does not decide task.scheduled');
  const twice = await verifySession(
    source,
    change((drafts) => [...drafts, ...drafts]),
  );
  expect(twice.differences[0]?.message).toBe('this release decides one more event, task.scheduled');
});

test('a fold that this release cannot do is a difference at the turn that needed it', async () => {
  const source = await sourceFromWorld(recorded.world, recorded.goals.simple.session);
  const report = await verifySession(source, (name) => {
    const logic = releaseLogics(name);
    if (logic === undefined || name !== 'aggregator') return logic;
    const evolve: AnyLogic['evolve'] = (state, seen) => {
      if (seen.type === 'task.completed') throw new Error('no such task');
      return logic.evolve(state, seen);
    };
    return { ...logic, evolve };
  });
  expect(report.differences[0]).toMatchObject({ kind: 'fold', service: 'aggregator' });
  expect(report.differences[0]?.message).toContain('no such task');
});
