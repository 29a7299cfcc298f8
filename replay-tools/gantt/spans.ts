import { type Happening, type History, numberIn, textIn } from '../read/history.ts';

/** What took how long: the session, its tasks' attempts, and their calls. */

export type SpanKind = 'session' | 'task' | 'model' | 'tool' | 'wait';
export type SpanEnd = 'ok' | 'failed' | 'open';

export type Span = Readonly<{
  kind: SpanKind;
  name: string;
  /** 0 for the session, 1 for tasks and waits, 2 for calls. */
  depth: number;
  fromMs: number;
  toMs: number;
  end: SpanEnd;
}>;

const failures = new Set([
  ...['task.failed', 'task.timed-out', 'task.cancelled', 'agent.failed', 'session.failed'],
  ...['tool.failed', 'tool.unknown', 'model.failed', 'model.denied', 'session.cancelled'],
]);

type Until = Readonly<{ types: readonly string[]; same(one: Happening): boolean }>;

/** From one event to the next that ends it; to the newest event of the session where none did. */
function span(
  history: History,
  begin: Happening,
  { types, same, ...about }: Until & Pick<Span, 'kind' | 'name' | 'depth'>,
): Span {
  const { whole } = history;
  const from = whole.indexOf(begin);
  const ending = whole.slice(from + 1).find((one) => types.includes(one.event.type) && same(one));
  const last = whole.at(-1)?.event.atMs ?? begin.event.atMs;
  const end = ending === undefined ? 'open' : failures.has(ending.event.type) ? 'failed' : 'ok';
  return { ...about, fromMs: begin.event.atMs, toMs: ending?.event.atMs ?? last, end };
}

function sessionSpan(history: History): Span[] {
  const [first] = history.whole;
  if (first === undefined) return [];
  const types = ['session.completed', 'session.failed', 'session.cancelled'];
  return [
    span(history, first, { kind: 'session', name: 'session', depth: 0, types, same: () => true }),
  ];
}

function callSpan(history: History, claim: Happening): Span {
  const isTool = claim.event.type === 'tool.claimed';
  const kind = isTool ? 'tool' : 'model';
  const types = ['completed', 'failed', 'unknown', 'denied'].map((end) => `${kind}.${end}`);
  const name = textIn(claim, kind);
  const same = (one: Happening): boolean => one.scope.call === claim.scope.call;
  return span(history, claim, { kind, name, depth: 2, types, same });
}

function attemptSpans(history: History, scheduled: Happening): Span[] {
  const { task = '', attempt = 1 } = scheduled.scope;
  const name = attempt > 1 ? `${task} (attempt ${attempt})` : task;
  const types = ['task.completed', 'task.failed', 'task.timed-out', 'task.cancelled'];
  const same = (one: Happening): boolean =>
    one.scope.task === task && one.scope.attempt === attempt;
  const claims = history.ofType('tool.claimed', 'model.claimed').filter(same);
  return [
    span(history, scheduled, { kind: 'task', name, depth: 1, types, same }),
    ...claims.map((claim) => callSpan(history, claim)),
  ];
}

/** The wait before a further attempt. */
function waitSpan(history: History, waiting: Happening): Span {
  const { task = '' } = waiting.scope;
  const attempt = numberIn(waiting, 'attempt') ?? 2;
  const types = ['task.scheduled', 'task.cancelled'];
  const same = (one: Happening): boolean => one.scope.task === task;
  const name = `wait before ${task} (attempt ${attempt})`;
  return span(history, waiting, { kind: 'wait', name, depth: 1, types, same });
}

/** The spans of a session, in the order in which they began; calls under their task. */
export function spansOf(history: History): readonly Span[] {
  const begins = history.ofType('task.scheduled', 'task.retry-scheduled');
  return [
    ...sessionSpan(history),
    ...begins.flatMap((one) =>
      one.event.type === 'task.scheduled' ? attemptSpans(history, one) : [waitSpan(history, one)],
    ),
  ];
}
