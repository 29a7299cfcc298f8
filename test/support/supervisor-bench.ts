import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { type DataOf, event, type SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { problemOfDraft } from '../../services/chassis/protocol/validate.ts';
import { supervisorLogic } from '../../services/supervisor/decide.ts';
import { BenchSession } from './bench-session.ts';
import { opened, planTurn } from './plan-fixtures.ts';

/**
 * A session with the supervisor alone, whose turns are checked to be complete: decided again, they
 * are empty.
 */
export class SupervisorBench extends BenchSession {
  constructor() {
    super([{ logic: supervisorLogic }]);
  }

  /** Lets the supervisor decide once. */
  decide(): readonly SeenEvent[] {
    const drafts = this.propose('supervisor');
    for (const draft of drafts) {
      const problem = problemOfDraft(draft);
      if (problem !== undefined) throw new Error(problem);
    }
    const seen = drafts.length === 0 ? [] : this.append(drafts, 'supervisor');
    const again = this.propose('supervisor');
    if (again.length > 0) throw new Error(`decided again: ${again.map(({ type }) => type)}`);
    return seen;
  }

  /** What the supervisor decides, as short texts such as `task.scheduled read 1`. */
  says(): readonly string[] {
    return this.decide().map((one) => brief(one));
  }

  /** Fires a timer that is set, at its due time. */
  fire(timer: string): void {
    const set = this.events.findLast((one) => one.type === 'timer.set' && one.data.timer === timer);
    if (set?.type !== 'timer.set') throw new Error(`timer ${timer} was never set`);
    const { dueAtMs } = set.data;
    this.nowMs = Math.max(this.nowMs, dueAtMs);
    const { record, index } = set;
    this.input(event('timer.fired', { timer, record, index, dueAtMs }));
  }

  eventOf<T extends SeenEvent['type']>(type: T): SeenEvent<T> {
    const found = this.events.findLast((one) => one.type === type);
    if (found === undefined) throw new Error(`there is no ${type}`);
    return found as SeenEvent<T>;
  }
}

export function brief(seen: SeenEvent): string {
  const data = seen.data as unknown as JsonObject;
  const parts = [data.task ?? data.timer ?? data.code, data.attempt].filter(
    (part) => part !== undefined,
  );
  return [seen.type, ...parts].join(' ');
}

/** A session whose plan is accepted; the supervisor has not decided yet. */
export function runningSession(
  plan: PlanDefinition,
  goal: Partial<DataOf<'session.opened'>> = {},
  content: { inputs?: JsonObject; context?: JsonObject } = {},
): SupervisorBench {
  const bench = new SupervisorBench();
  bench.input(opened(goal, content));
  bench.append(planTurn(plan), 'planner');
  return bench;
}
