/** Publishes a goal and follows it to its result. What `goal submit` and `demo` share. */
import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../../schemas/json.ts';
import type { LogPort } from '../../chassis/log/port.ts';
import { sessionId } from '../../chassis/protocol/ids.ts';
import { type LiveLine, LiveView } from './live-view.ts';
import { type Published, publish } from './log-client.ts';
import { type GoalResult, openFeed } from './session-feed.ts';

export interface NamedGoal {
  readonly goalId: string;
  readonly session: string;
  readonly lane: string;
  readonly body: JsonObject;
}

const textIn = (goal: JsonObject, name: string, fallback: string): string => {
  const value = goal[name];
  return typeof value === 'string' ? value : fallback;
};

/** Gives a goal its id, if it has none, and the session that follows from it. */
export function nameGoal(goal: JsonObject): NamedGoal {
  const goalId = textIn(goal, 'id', `g-${randomBytes(6).toString('hex')}`);
  const session = sessionId(textIn(goal, 'tenant', 'default'), '', goalId);
  const lane = textIn(goal, 'priority', 'normal');
  return { goalId, session, lane, body: { ...goal, id: goalId } };
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
}

export interface FollowOptions {
  readonly log: LogPort;
  readonly goal: NamedGoal;
  /** The goal may have been asked for before under its id. */
  readonly fromStart: boolean;
  onPublished(published: Published, atMs: number): void;
  onLine(line: LiveLine): void;
  /** Nothing was heard of the goal for a while. */
  onSilence(): void;
}

const silenceMs = 10_000;

/** Opens the readers, publishes, and stays until the result is there. */
export async function followGoal(options: FollowOptions): Promise<Followed> {
  const { log, goal, fromStart } = options;
  const view = new LiveView();
  const { session, lane } = goal;
  const silence = setTimeout(options.onSilence, silenceMs);
  const onEvent: Parameters<typeof openFeed>[0]['onEvent'] = (event) => {
    clearTimeout(silence);
    const line = view.take(event);
    if (line !== undefined) options.onLine(line);
  };
  try {
    const feed = await openFeed({ log, session, lane, fromStart, onEvent });
    const startMs = performance.now();
    options.onPublished(await publishGoal(log, goal), Date.now());
    const result = await feed.result;
    const elapsedMs = Math.round(performance.now() - startMs);
    await feed.close();
    return { result, elapsedMs, events: view.seen, providers: [...view.providers] };
  } finally {
    clearTimeout(silence);
  }
}
