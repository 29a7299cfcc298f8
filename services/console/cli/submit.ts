/** Publishes a goal and follows it to its result. What `goal submit` and `demo` share. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { everyLaneTopic, readLaneTable } from '../../../replay-tools/read/lane-table.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { LogPort } from '../../chassis/log/port.ts';
import { sessionId } from '../../chassis/protocol/ids.ts';
import { type LiveLine, LiveView } from './live-view.ts';
import { type Published, publish } from './log-client.ts';
import { type FeedOptions, type GoalResult, openFeed } from './session-feed.ts';

export interface NamedGoal {
  readonly goalId: string;
  readonly session: string;
  readonly body: JsonObject;
  /** It was given its id by who asks, so it may have been asked for before. */
  readonly known: boolean;
}

const textIn = (goal: JsonObject, name: string, fallback: string): string => {
  const value = goal[name];
  return typeof value === 'string' ? value : fallback;
};

/** Gives a goal its id, if it has none, and the session that follows from it. */
export function nameGoal(goal: JsonObject): NamedGoal {
  const goalId = textIn(goal, 'id', `g-${randomBytes(6).toString('hex')}`);
  const session = sessionId(textIn(goal, 'tenant', 'default'), '', goalId);
  return { goalId, session, body: { ...goal, id: goalId }, known: goal['id'] === goalId };
}

/** Writes the goal to the goals topic. */
export function publishGoal(log: LogPort, goal: NamedGoal): Promise<Published> {
  const headers = { ce_specversion: '1.0', ce_id: goal.goalId, ce_type: 'longrein.goal.v1' };
  return publish(log, goal.goalId, { headers, body: goal.body });
}

export interface Followed {
  readonly result: GoalResult;
  /** From publishing to reading the result. */
  readonly elapsedMs: number;
  readonly events: number;
  /** Providers whose models answered. */
  readonly providers: readonly string[];
  /** The goal had ended before it was asked for now. */
  readonly repeated: boolean;
}

export interface FollowOptions {
  readonly log: LogPort;
  readonly goal: NamedGoal;
  /** `startedMs` is the time that lines count from. */
  onPublished(startedMs: number): void;
  onLine(line: LiveLine): void;
  /** Nothing was heard of the goal for a while. */
  onSilence(): void;
}

const silenceMs = 10_000;
const catchUpMs = 1_000;

/** After one of these a result is published. */
const lastTypes: ReadonlySet<string> = new Set([
  'result.published',
  'goal.rejected',
  'goal.cancelled',
]);

/** Opens the readers, publishes, and stays until the result is there. */
export async function followGoal(options: FollowOptions): Promise<Followed> {
  const { log, goal } = options;
  const view = new LiveView();
  const { session, known } = goal;
  const silence = setTimeout(options.onSilence, silenceMs);
  let sawLast = (): void => undefined;
  const last = new Promise<void>((resolve) => {
    sawLast = resolve;
  });
  const onEvent: FeedOptions['onEvent'] = (event) => {
    clearTimeout(silence);
    const line = view.take(event);
    if (line !== undefined) options.onLine(line);
    if (lastTypes.has(event.type)) sawLast();
  };
  try {
    const startedMs = Date.now();
    const laneTopics = everyLaneTopic(await readLaneTable(log));
    const feed = await openFeed({ log, session, laneTopics, fromStart: known, onEvent });
    options.onPublished(Date.now());
    const before = performance.now();
    await publishGoal(log, goal);
    const result = await feed.result;
    const elapsedMs = Math.round(performance.now() - before);
    // The result comes by another reader, which may be a little ahead of the events.
    await Promise.race([last, sleep(catchUpMs, undefined, { ref: false })]);
    await feed.close();
    const repeated = Date.parse(result.endedAt) < startedMs;
    const providers = [...view.providers];
    return { result, elapsedMs, events: view.seen, providers, repeated };
  } finally {
    clearTimeout(silence);
  }
}
