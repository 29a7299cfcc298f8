import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { watermarksTopic } from '../../schemas/topics.ts';
import type { Host } from '../../services/chassis/host/host.ts';
import type { EffectJob, Effects, HostedService } from '../../services/chassis/host/ports.ts';
import type { BuiltService } from '../../services/chassis/host/service-context.ts';
import type { Watermarks } from '../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { sameLog } from './batch.ts';
import type { Schedule } from './world/schedule-shape.ts';
import type { Sabotage } from './world/world.ts';

/**
 * Breaks on purpose, from outside the code: what a run is made of is changed before it starts. Each must be found by the
 * checker whose rule it names; a checker that finds none of them checks nothing.
 */
export type Ablation = Readonly<{
  name: string;
  rule: string;
  sabotage: Sabotage;
  /** Whether a schedule has what is broken at all; default: every schedule has. */
  fits?(schedule: Schedule): boolean;
}>;

type Decide = AnyLogic['decide'];

/** The logic of one service with another `decide`. */
const decides =
  (service: string, change: (decide: Decide, logic: AnyLogic) => Decide) =>
  (logic: AnyLogic): AnyLogic =>
    logic.name.startsWith(service) ? { ...logic, decide: change(logic.decide, logic) } : logic;

const changes = (service: string, change: (drafts: readonly Draft[]) => readonly Draft[]) =>
  decides(service, (decide) => (state, input) => change(decide(state, input)));

const hosts =
  (change: (hosted: HostedService) => HostedService) =>
  (services: readonly BuiltService[]): readonly BuiltService[] =>
    services.map((one) => ({ ...one, hosted: change(one.hosted) }));

function runsTwice(effects: Effects<unknown>): Effects<unknown> {
  const twice = (job: EffectJob): EffectJob => ({
    ...job,
    run: (control) => {
      job.run(control).catch(() => undefined);
      return job.run(control);
    },
  });
  return {
    ...effects,
    jobOf(claim, state, session) {
      const job = effects.jobOf(claim, state, session);
      return job === undefined ? undefined : twice(job);
    },
  };
}

/** A request counts as its own permit, and the guard is not asked. */
function claimsUnasked(logic: AnyLogic): AnyLogic {
  if (logic.name === 'tool-guard') return { ...logic, decide: () => [] };
  if (logic.name !== 'tool-runner') return logic;
  return {
    ...logic,
    evolve(state, seen) {
      const next = logic.evolve(state, seen);
      if (seen.type !== 'tool.requested') return next;
      const data = { ...seen.data, effect: 'at-most-once', timeoutMs: 5_000 };
      return logic.evolve(next, { ...seen, type: 'tool.permitted', data } as unknown as SeenEvent);
    },
    answers: (seen) => logic.answers(seen) || seen.type === 'tool.requested',
  };
}

/** A goal that comes again opens a session of its own. */
function takesRepeats(services: readonly BuiltService[]): readonly BuiltService[] {
  let count = 0;
  return services.map((one) => {
    const { companion } = one;
    if (companion === undefined) return one;
    const start = (host: Host): Promise<void> => {
      const appendInput: Host['appendInput'] = (topic, input, onAppended) => {
        const text = JSON.stringify(input).replaceAll(input.body.session.slice(9), `${count++}`);
        host.appendInput(topic, JSON.parse(text) as typeof input, onAppended);
      };
      return companion.start(Object.assign(Object.create(host) as Host, { appendInput }));
    };
    return { ...one, companion: { ...companion, start } };
  });
}

const codec = createFixedCodec();

/** Marks say that all that was read is done with. */
const marksEverything: NonNullable<Sabotage['rewrite']> = (partition, record, ends) => {
  if (partition.topic !== watermarksTopic || !record.key.startsWith('mark/')) return record;
  const mark = codec.decode(record.value ?? new Uint8Array()).body as JsonObject;
  const end = ends(String(mark['topic']), Number(mark['partition']));
  return { ...record, value: codec.encode('watermark', { ...mark, offset: end }) };
};

function readsOrder(logic: AnyLogic): AnyLogic {
  if (logic.name !== 'supervisor') return logic;
  const isSorted = (state: object): boolean => {
    const keys = Object.keys(state);
    return keys.join() === [...keys].sort().join();
  };
  const decide: Decide = (state, input) => {
    const drafts = logic.decide(state, input);
    return isSorted(state as object) ? drafts.slice(0, 1) : drafts;
  };
  return { ...logic, decide };
}

type KeyState = Readonly<{ kind: string; queue?: readonly string[]; holder?: string | null }>;

/** Gives a key to whoever asks. */
const givesAtOnce = decides('intake', (decide) => (state, input) => {
  const { kind, queue = [] } = state as KeyState;
  if (kind !== 'key' || queue.length === 0) return decide(state, input);
  return queue.map((goalLog) => event('key.assigned', { goalLog, waiting: 0 }));
});

/** A janitor that asks only the service that has read furthest. */
const deletesWhatOneHasRead = (services: readonly BuiltService[]): readonly BuiltService[] =>
  services.map((one) => {
    const { companion } = one;
    if (companion === undefined || one.hosted.logic.name !== 'janitor') return one;
    const start = (host: Host): Promise<void> => {
      const at: Watermarks['at'] = (name) =>
        [...host.watermarks.at(name)].sort((a, b) => b.offset - a.offset).slice(0, 1);
      const known = Object.create(host.watermarks) as Watermarks;
      const watermarks = Object.assign(known, { at, listed: () => [] });
      return companion.start(Object.assign(Object.create(host) as Host, { watermarks }));
    };
    return { ...one, companion: { start, stop: () => companion.stop() } };
  });

let drawn = 0;

export const ablations: readonly Ablation[] = [
  {
    name: 'a supervisor that forgets its timers',
    rule: 'every effective decision equals a fresh fold at its base with its facts',
    sabotage: {
      logic: changes('supervisor', (all) => all.filter(({ type }) => type !== 'timer.set')),
    },
  },
  {
    name: 'a fold that misses outcomes',
    rule: 'what a host holds in memory equals the fold of the log up to its position',
    sabotage: {
      logic: (logic) => ({
        ...logic,
        evolve: (state, seen) => (seen.type === 'tool.failed' ? state : logic.evolve(state, seen)),
      }),
    },
  },
  {
    name: 'a runner that runs every effect twice',
    rule: 'no effect runs more often than its class and its claims allow',
    sabotage: {
      services: hosts((hosted) =>
        hosted.effects === undefined ? hosted : { ...hosted, effects: runsTwice(hosted.effects) },
      ),
    },
  },
  {
    name: 'a runner that waits for no permit',
    rule: 'no effect runs without a permit and a claim before it in the log',
    sabotage: { logic: claimsUnasked },
  },
  {
    name: 'an intake that takes every repeat for a goal of its own',
    rule: 'every goal has exactly one result, and repeats of it are the same bytes',
    sabotage: { services: takesRepeats },
  },
  {
    name: 'an aggregator that never ends a session',
    rule: 'every session of an accepted goal closes',
    sabotage: { logic: changes('aggregator', () => []), isReal: true },
  },
  {
    name: 'an aggregator that does not say what it owes',
    rule: 'in the end nothing is due that nobody has decided',
    sabotage: { logic: changes('aggregator', () => []) },
  },
  {
    name: 'marks at the position of the reader',
    rule: 'watermarks never pass what a restore needs',
    sabotage: { rewrite: marksEverything },
  },
  {
    name: 'a janitor that asks one service only',
    rule: 'nothing is deleted that a restore needs',
    sabotage: { services: deletesWhatOneHasRead },
    fits: ({ retentionMs }) => retentionMs !== undefined,
  },
  {
    name: 'a decision that depends on the order of members',
    rule: 'a decision does not depend on the order of members',
    sabotage: { logic: readsOrder, isReal: true },
  },
  {
    name: 'a guard that permits the same call twice',
    rule: 'the log of a session is valid for every machine',
    sabotage: {
      logic: changes('tool-guard', (all) =>
        all.flatMap((one): Draft[] => (one.type === 'tool.permitted' ? [one, one] : [one])),
      ),
      isReal: true,
    },
  },
  {
    name: 'a key that is given to everybody at once',
    rule: 'goals of one key run one after another',
    sabotage: { logic: givesAtOnce, isReal: true },
  },
  {
    name: 'a decision that throws',
    rule: 'nothing fails that the faults do not explain',
    sabotage: {
      logic: decides('planner', () => () => {
        throw new Error('broken');
      }),
      isReal: true,
    },
  },
  {
    name: 'facts that no seed gives',
    rule: sameLog,
    sabotage: {
      services: hosts((hosted) =>
        hosted.logic.name === 'supervisor'
          ? { ...hosted, facts: () => ({ facts: { drawn: drawn++ } }) }
          : hosted,
      ),
    },
  },
];
