import type { SeenEvent } from '../../../schemas/event.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker } from './violation.ts';

const rule = 'a revision is answered once, and nothing of the plan begins until it is';

const endings: ReadonlySet<string> = new Set([
  ...['session.completed', 'session.failed', 'session.cancelled'],
]);

/** What is known of the plan while its log is read. */
type Plan = {
  asked: number | undefined;
  tasks: Set<string>;
  begun: Set<string>;
  /** Given up: the rest of the plan may go on without it. */
  abandoned: Set<string>;
  settled: Set<string>;
};

const settling: ReadonlySet<string> = new Set([
  ...['task.completed', 'task.abandoned', 'task.skipped'],
]);

function planned(plan: Plan, ids: readonly string[], found: string[]): void {
  const tasks = new Set(ids);
  for (const id of plan.begun)
    if (plan.tasks.has(id) && !tasks.has(id) && !plan.abandoned.has(id))
      found.push(`${id} has begun and is not in the plan`);
  plan.tasks = tasks;
  // What never began is another task now.
  for (const id of plan.settled) if (!plan.begun.has(id)) plan.settled.delete(id);
}

function answered(plan: Plan, revision: number, found: string[]): void {
  if (plan.asked !== revision) found.push(`revision ${revision} was answered and nobody asked`);
  plan.asked = undefined;
}

function take(plan: Plan, { type, data }: SeenEvent, found: string[]): void {
  if (type === 'plan.accepted') {
    const ids = data.tasks.map(({ id }) => id);
    planned(plan, ids, found);
  }
  if (type === 'plan.revision-requested') {
    if (plan.asked !== undefined)
      found.push(`revision ${data.revision} is asked for beside another`);
    plan.asked = data.revision;
    plan.begun.delete(data.task);
  }
  if (type === 'plan.revision-refused' && data.again !== true) answered(plan, data.revision, found);
  if (type === 'plan.revised') {
    answered(plan, data.revision, found);
    const ids = data.tasks.map(({ id }) => id);
    planned(plan, ids, found);
  }
  if (type === 'task.scheduled' || type === 'task.expanded') begun(plan, data.task, found);
  if (settling.has(type) && 'task' in data) plan.settled.add(String(data.task));
  if (type === 'session.completed')
    for (const id of plan.tasks)
      if (!plan.settled.has(id)) found.push(`${id} never came to an end`);
  if (type === 'task.abandoned') plan.abandoned.add(data.task);
}

function begun(plan: Plan, task: string, found: string[]): void {
  if (!plan.tasks.has(task)) return;
  if (plan.asked !== undefined && !plan.begun.has(task))
    found.push(`${task} began while revision ${plan.asked} was open`);
  plan.begun.add(task);
}

function found({ session, lines }: SessionHistory): string[] {
  const wrong: string[] = [];
  const none = { tasks: new Set<string>(), begun: new Set<string>(), abandoned: new Set<string>() };
  const plan: Plan = { asked: undefined, ...none, settled: new Set() };
  const events = lines.flatMap(({ step }) => step.events);
  let isOver = false;
  for (const event of events) {
    if (!isOver) take(plan, event, wrong);
    // An answer may have been on its way.
    isOver ||= endings.has(event.type) || event.type === 'decision.failed';
  }
  if (plan.asked !== undefined && !isOver) wrong.push(`revision ${plan.asked} was never answered`);
  return wrong.map((one) => `${session}: ${one}`);
}

export const revisionsOnce: Checker = ({ history }) =>
  [...history.sessions.values()]
    .filter(({ session }) => session.startsWith('ses_'))
    .flatMap((session) => found(session).map((detail) => ({ rule, detail })));
