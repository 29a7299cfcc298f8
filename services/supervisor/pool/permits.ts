import { type DataOf, type Draft, event, type SeenEvent } from '../../../schemas/event.ts';
import { poolsTopic } from '../../../schemas/topics.ts';
import { attemptsOf } from '../../../state-machines/task/task-machine.ts';
import {
  type Members,
  memberOf,
  sortedEntries,
  withMember,
  withoutMember,
} from '../../chassis/effects/member.ts';
import { poolLogId } from '../../chassis/protocol/ids.ts';
import type { Proposal } from '../../chassis/protocol/proposal.ts';
import {
  addressOf,
  type Delivery,
  type SessionMeta,
} from '../../chassis/protocol/service-logic.ts';
import { templateOf } from '../recovery.ts';
import { isRunning, isSettled, type SupervisorState, type TaskState } from '../state.ts';
import type { Denial, GoalTraits, Permit } from './permit.ts';

/**
 * What a session has to do with pools that have limits: it asks for a place before an attempt
 * begins, and gives it back when the attempt has ended. A pool without limits is never asked.
 */

export const usualLane = 'normal';

/** Steps of priority that the whole goal is ahead of others of its tenant. */
const goalSteps = { high: 100, bulk: -100 } as const;

/** Undefined where nothing of it is unusual: states of before have none. */
export function traitsOf({ data }: SeenEvent<'session.opened'>): GoalTraits | undefined {
  const { lane, key, priority } = data;
  const traits = {
    ...(lane === usualLane ? {} : { lane }),
    ...(key === undefined ? {} : { key }),
    ...(priority === 'normal' ? {} : { priority }),
  };
  return Object.keys(traits).length === 0 ? undefined : traits;
}

function requested(permits: Members<Permit>, seen: SeenEvent<'permit.requested'>): Members<Permit> {
  const { pool, tasks } = seen.data;
  const request = addressOf(seen);
  const asked = tasks.map(({ task, attempt }) => [task, { pool, attempt, request }] as const);
  return { ...permits, ...Object.fromEntries(asked) };
}

function granted(permits: Members<Permit>, { data }: SeenEvent<'permit.granted'>): Members<Permit> {
  return data.tasks.reduce((all, { task, attempt, untilMs }) => {
    const known = memberOf(all, task);
    if (known?.attempt !== attempt || known.untilMs !== undefined) return all;
    return withMember(all, task, { ...known, untilMs });
  }, permits);
}

function returned(
  permits: Members<Permit>,
  { data }: SeenEvent<'permit.returned'>,
): Members<Permit> {
  return data.tasks.reduce(
    (all, { task, attempt }) =>
      memberOf(all, task)?.attempt === attempt ? withoutMember(all, task) : all,
    permits,
  );
}

function undelivered(permits: Members<Permit>, address: string): Members<Permit> {
  return sortedEntries(permits)
    .filter(([, { request }]) => request === address)
    .reduce((all, [task, permit]) => withMember(all, task, { ...permit, refused: true }), permits);
}

/** The same object where the event is about none of them. */
export function foldPermits(permits: Members<Permit>, seen: SeenEvent): Members<Permit> {
  switch (seen.type) {
    case 'permit.requested':
      return requested(permits, seen);
    case 'permit.granted':
      return granted(permits, seen);
    case 'permit.returned':
      return returned(permits, seen);
    case 'permit.denied':
      return seen.data.tasks.reduce((all, { task, attempt }) => {
        const isMeant = memberOf(all, task)?.attempt === attempt;
        return isMeant ? withoutMember(all, task) : all;
      }, permits);
    case 'delivery.refused':
      return undelivered(permits, addressOf(seen.data));
    default:
      return permits;
  }
}

/** The denials after this event, by task; the same object where it is about none. */
export function foldDenials(denials: Members<Denial>, seen: SeenEvent): Members<Denial> {
  if (seen.type === 'permit.denied')
    return seen.data.tasks.reduce((all, one) => withMember(all, one.task, one), denials);
  const isOver = seen.type === 'task.diverted' || seen.type === 'task.scheduled';
  if (!isOver || memberOf(denials, seen.data.task) === undefined) return denials;
  return withoutMember(denials, seen.data.task);
}

export type Leave = 'given' | 'asked' | 'ask' | 'refused' | 'denied';

/** Whether the task's next attempt may begin, waits, or has to ask first. */
export function leaveOf(state: SupervisorState, task: TaskState): Leave {
  const { definition, delegation } = task;
  // A task that an agent made works on the place of who waits for it.
  const isLimited =
    delegation === undefined && state.limitedPools?.includes(definition.pool) === true;
  if (!isLimited && templateOf(state, task) === undefined) return 'given';
  if (memberOf(state.denials ?? {}, definition.id) !== undefined) return 'denied';
  const permit = memberOf(state.permits ?? {}, definition.id);
  if (permit === undefined) return 'ask';
  if (permit.refused === true) return 'refused';
  return permit.untilMs === undefined ? 'asked' : 'given';
}

type Asked = DataOf<'permit.requested'>['tasks'][number];

function askedFor(state: SupervisorState, task: TaskState): Asked {
  const { definition, machine } = task;
  const { goal = {} } = state;
  const template = templateOf(state, task);
  const steps = goal.priority === undefined ? 0 : goalSteps[goal.priority];
  const priority = definition.priority + steps;
  const attempt = attemptsOf(machine) + 1;
  const asked = { task: definition.id, attempt, priority, holdMs: definition.timeoutMs };
  const more = task.delegation === undefined ? {} : { placeless: true };
  return template === undefined ? asked : { ...asked, template, ...more };
}

/** Asks each pool once for all tasks that could begin. */
export function askForLeave(
  proposal: Proposal<SupervisorState>,
  tasks: readonly TaskState[],
): void {
  const { goal = {} } = proposal.state;
  const { lane = usualLane, key } = goal;
  for (const pool of new Set(tasks.map(({ definition }) => definition.pool))) {
    const wanted = tasks.filter(({ definition }) => definition.pool === pool);
    const data = {
      ...{ poolLog: poolLogId(pool), pool, lane },
      ...(key === undefined ? {} : { key }),
      tasks: wanted.map((task) => askedFor(proposal.state, task)),
    };
    proposal.write(event('permit.requested', data));
  }
}

/** Whether the attempt runs on its permit, or could still begin on it. */
function isWanted(
  state: SupervisorState,
  { task, permit, nowMs }: { task: TaskState | undefined; permit: Permit; nowMs: number },
): boolean {
  if (task === undefined || !isRunning(state) || isSettled(task)) return false;
  const attempts = attemptsOf(task.machine);
  if (task.machine.value === 'scheduled') return attempts === permit.attempt;
  if (task.machine.value === 'failed' || attempts + 1 !== permit.attempt) return false;
  // A place that may be taken back before the attempt ends is asked for again.
  return permit.untilMs === undefined || nowMs + task.definition.timeoutMs <= permit.untilMs;
}

type Ended = DataOf<'permit.returned'>['tasks'][number];

function endOf(id: string, task: TaskState | undefined, permit: Permit): Ended {
  const { attempt } = permit;
  const none = { task: id, attempt };
  if (task === undefined) return { ...none, outcome: 'stopped' };
  if (attemptsOf(task.machine) < attempt) return { ...none, outcome: 'unused' };
  if (task.machine.value === 'completed') return { ...none, outcome: 'completed' };
  const { failure } = task;
  if (failure === null) return { ...none, outcome: 'stopped' };
  const handedOn = task.handedOn === attempt ? { handedOn: true } : {};
  return { ...none, outcome: 'failed', code: failure.code, class: failure.class, ...handedOn };
}

/** Gives back every place whose attempt has ended, or will not begin. */
export function returnPermits(proposal: Proposal<SupervisorState>, nowMs: number): void {
  const { permits } = proposal.state;
  if (permits === undefined) return;
  const { tasks } = proposal.state;
  const ended = sortedEntries(permits).flatMap(([id, permit]) => {
    const task = tasks.find(({ definition }) => definition.id === id);
    if (isWanted(proposal.state, { task, permit, nowMs })) return [];
    return [{ pool: permit.pool, end: endOf(id, task, permit) }];
  });
  for (const draft of returnsOf(ended)) proposal.write(draft);
}

function returnsOf(ended: readonly Readonly<{ pool: string; end: Ended }>[]): Draft[] {
  return [...new Set(ended.map(({ pool }) => pool))].map((pool) => {
    const tasks = ended.filter((one) => one.pool === pool).map(({ end }) => end);
    return event('permit.returned', { poolLog: poolLogId(pool), pool, tasks });
  });
}

/** All places at once, for a session in which nothing is decided any more. */
export function returnAll({ permits = {} }: SupervisorState): Draft[] {
  const ended = sortedEntries(permits).map(([task, { pool, attempt }]) => {
    const end: Ended = { task, attempt, outcome: 'stopped' };
    return { pool, end };
  });
  return returnsOf(ended);
}

/** Logs of pools belong to no tenant. */
const nobody = 'longrein';

/** What a session says to the logs of pools. */
export function permitDeliveries(
  seen: SeenEvent,
  { session, tenant }: Pick<SessionMeta, 'session' | 'tenant'>,
): Delivery[] {
  if (seen.type !== 'permit.requested' && seen.type !== 'permit.returned') return [];
  const to = { to: 'log', topic: poolsTopic, tenant: nobody } as const;
  const identity = [seen.type, session, addressOf(seen)];
  if (seen.type === 'permit.returned') {
    const { poolLog, pool, tasks } = seen.data;
    const draft = event('slot.returned', { session, pool, tasks });
    return [{ ...to, session: poolLog, identity, event: draft }];
  }
  const { poolLog, ...asked } = seen.data;
  const draft = event('slot.requested', { session, tenant, ...asked });
  return [{ ...to, session: poolLog, identity, event: draft }];
}
