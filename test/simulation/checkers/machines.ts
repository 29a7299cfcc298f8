import type { SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { plannerAgent } from '../../../services/planner/state.ts';
import { agentOfTimer } from '../../../services/worker-pool/state.ts';
import { agentFold, foldAgent } from '../../../state-machines/agent/agent-machine.ts';
import type { Persisted } from '../../../state-machines/fold.ts';
import { foldSandbox, sandboxFold } from '../../../state-machines/sandbox/sandbox-machine.ts';
import { foldSession, sessionFold } from '../../../state-machines/session/session-machine.ts';
import { foldTask, taskFold } from '../../../state-machines/task/task-machine.ts';
import { foldToolCall, toolCallFold } from '../../../state-machines/tool-call/tool-call-machine.ts';

/** The machines of a session, and which of them an event of the log moves. */

export type Machine = Readonly<{
  name: string;
  initial: Persisted;
  fold(state: Persisted, event: SeenEvent): Persisted;
}>;

const machine = (name: string, fold: { initial(): Persisted }, next: Machine['fold']): Machine => ({
  name,
  initial: fold.initial(),
  fold: next,
});

const session = machine('session', sessionFold, foldSession);
const task = machine('task', taskFold, foldTask);
const agent = machine('agent', agentFold, foldAgent);
const toolCall = machine('tool-call', toolCallFold, foldToolCall);
const sandbox = machine('sandbox', sandboxFold, foldSandbox);

const answers = /^(tool|model)\.(completed|failed|denied|unknown)$/;
const ofSession = /^(session\.(opened|completed|failed|cancelled|closed)|plan\.(?!revis)|result\.)/;
const ofAgent =
  /^(agent\.(?!created)|tool\.requested|model\.requested|person\.(asked|settled)$|delegation\.settled$)/;
const ofCall = /^tool\.(?!requested)/;

/** `own`: written by who knows the machine; others may tell it what it does not wait for any more. */
export type Moved = Readonly<{ machine: Machine; id: string; own: boolean }>;

/** A plan that is made anew may name what was skipped: it never began, and has a life before it. */
export const renewedBy = (event: SeenEvent): readonly Moved[] =>
  event.type === 'plan.revised'
    ? event.data.tasks.map(({ id }) => ({ machine: task, id, own: true }))
    : [];

const text = (data: JsonObject, name: string): string => String(data[name] ?? '');

/** `agentOf`: which agent asked for a call. */
export function movedBy(event: SeenEvent, agentOf: ReadonlyMap<string, string>): Moved[] {
  const data = event.data as unknown as JsonObject;
  const { type } = event;
  if (ofSession.test(type)) return [{ machine: session, id: '', own: true }];
  // More of a task that began already is no step of it.
  if (event.type === 'task.expanded' && !event.data.begins) return [];
  // Who is to work on it is no step of it either.
  if (event.type === 'task.diverted') return [];
  // For who waits it is a call like others, and for the task that is made the beginning of a life.
  if (event.type === 'task.delegated')
    return event.data.kind === 'handoff'
      ? []
      : [{ machine: agent, id: event.data.agent, own: true }];
  if (type.startsWith('task.')) return [{ machine: task, id: text(data, 'task'), own: true }];
  if (type === 'sandbox.released')
    return [{ machine: sandbox, id: text(data, 'sandbox'), own: true }];
  if (ofAgent.test(type) && data['agent'] === plannerAgent) return [];
  if (ofAgent.test(type)) return [{ machine: agent, id: text(data, 'agent'), own: true }];
  const timed = event.type.startsWith('timer.') ? agentOfTimer(text(data, 'timer')) : undefined;
  if (timed !== undefined) return [{ machine: agent, id: timed, own: type === 'timer.set' }];
  const moved: Moved[] = [];
  const asking = agentOf.get(text(data, 'call'));
  if (answers.test(type) && asking !== undefined)
    moved.push({ machine: agent, id: asking, own: false });
  if (ofCall.test(type)) moved.push({ machine: toolCall, id: text(data, 'call'), own: true });
  return moved;
}
