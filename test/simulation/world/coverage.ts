import { eventSchemas } from '../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { strangeKinds } from './strange-records.ts';
import { allTransitions } from './transitions.ts';

/** What happened in a run or in a batch of runs, by name. */
export type Coverage = Map<string, number>;

export function note(coverage: Coverage, name: string, count = 1): void {
  coverage.set(name, (coverage.get(name) ?? 0) + count);
}

export function addCoverage(to: Coverage, from: Coverage): void {
  for (const [name, count] of from) note(to, name, count);
}

/** Faults and situations. */
const situations: readonly string[] = [
  'fault crash',
  'fault crash while appending',
  'fault crash while delivering',
  'fault crash at an await',
  'fault zombie: expelled',
  'fault zombie: expelled and deaf',
  'fault zombie: frozen',
  'fault slow reader',
  'fault silent presence',
  'fault rebalance',
  'fault record lost in reading',
  'fault broker away',
  'fault blobs away',
  'fault request lost',
  'fault acknowledgement lost',
  'fault request delayed',
  'fault request late',
  'fault request refused',
  'fault request refused for good',
  'fault input refused',
  'fault repeated input',
  'fault repeated turn',
  'fault repeated checkpoint',
  'fault repeated epoch',
  ...strangeKinds.map((kind) => `fault ${kind}`),
  'fault poison event',
  'goal that kills',
  'poison given up',
  'fault clock skew',
  'fault clock jump forward',
  'fault clock jump back',
  'fault cancel races an answer',
  'fault cancel races a rejection',
  'question answered twice',
  'cancel races an answer of a person',
  'answer of a person and of a tool in one moment',
  'answer of a person and a cancel in one moment',
  'answer of a person after the cancel',
  'answer of a person that came too late',
  'fault records after the end',
  'fault sink away',
  'fault sink answer lost',
  'fault sink slow',
  'sink range stored again',
  'five answers in one millisecond',
  'a timer and an answer in one millisecond',
  'partial take-over',
  'another release decides in a session',
  'delivered after another host took over',
  'contents in the blob store',
  'host started',
  'host stopped',
  'host of one service',
  'host of several services',
  'host of all services',
  'host of release a',
  'host of release b',
  'checkpoint asked for',
  'commit asked for',
  'goal repeated',
  'goal cancelled',
  'goal cancelled first',
  'goal of a key',
  'goal refused',
  'tool slow',
  'tool hangs',
  'tool fails',
  'tool unknown',
  'model fails',
  'record void',
  'ignored closed',
  'ignored duplicate',
  'ignored late',
  'ignored superseded',
  'ignored foreseen-void',
  'owner superseded',
  'turn from a checkpoint',
  'turn that foresaw',
  'input with what it set off',
  'restored from a watermark',
  'state compared',
  'records deleted',
  'restored after a deletion',
];

const forked =
  '`replay fork` writes it as the opening of a session, with a past that it copied: tests of forks show it on a broker';
const erased =
  '`erase` writes it to a session that has ended, whose key it takes: in a run nothing is encrypted, tests of erasing show it';
const noChildCancel = 'nobody calls off one child here: tests of whole sessions show it';
const shortLives =
  'a place is taken back minutes after a session lost it: a test of the pool log shows it';

/** Event types that no run can show, with the reason. */
export const neverEmitted: Readonly<Record<string, string>> = {
  'session.erased': erased,
  'session.forked': forked,
  ...{ 'goal.child-cancel-received': noChildCancel, 'goal.child-cancel-forwarded': noChildCancel },
  'session.child-cancel-requested': noChildCancel,
  'slot.expired': shortLives,
};

const oneTurn = 'the steps before it stand in one turn: nothing can come between them';
const begunOnly =
  'only a task that began is given up, but for delegated ones: tests of delegation show them';
const firstOut =
  'given up before it begins is only who asks while a template is out, or was given work: too rare to demand';
const oneAtATime = 'an agent asks its model, or waits, with nothing else open';

const noServer =
  'no tool of a run is that of an MCP server: tests of provisioning show what is asked of one, on a broker too';
const whileAsking = [
  'tool.requested',
  'tool.completed',
  'tool.failed',
  'tool.denied',
  'tool.unknown',
];

/** What an agent goes through that asks its servers before it begins. */
const asking: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'created > tool.requested',
    ...[...whileAsking, 'agent.failed', 'agent.cancelled'].map((type) => `provisioning > ${type}`),
    ...['agent.provisioned', 'agent.failed', 'agent.cancelled'].map((type) => `checked > ${type}`),
  ].map((move) => [`transition agent ${move}`, noServer]),
);

/** Pairs of a state and an event that a definition allows and the code of today never makes, with the reason. */
export const neverTaken: Readonly<Record<string, string>> = {
  'transition session opened > plan.rejected': 'intake refuses a plan that nobody has',
  'transition session planning > session.failed': oneTurn,
  'transition session planning > session.cancelled': oneTurn,
  'transition task pending > task.abandoned': firstOut,
  'transition task pending > task.cancelled': begunOnly,
  'transition agent created > agent.failed': oneTurn,
  'transition agent created > agent.cancelled': oneTurn,
  'transition agent provisioned > agent.failed': oneTurn,
  'transition agent provisioned > agent.cancelled': oneTurn,
  'transition agent waiting > model.requested': oneAtATime,
  'transition agent waiting > timer.set': oneAtATime,
  ...asking,
};

const typeOf = (schema: JsonObject): string =>
  String((schema as { properties: { type: { const: string } } }).properties.type.const);

/** Kinds that must occur in every batch of enough seeds, or the batch shows less than it claims. */
export const neededKinds: readonly string[] = [
  ...situations,
  ...eventSchemas
    .map(typeOf)
    .filter((type) => neverEmitted[type] === undefined)
    .map((type) => `event ${type}`),
  ...allTransitions.filter((name) => neverTaken[name] === undefined),
];

/** Needed names with a count of zero. */
export function missingKinds(coverage: Coverage, needed: readonly string[]): readonly string[] {
  return needed.filter((name) => (coverage.get(name) ?? 0) === 0);
}
