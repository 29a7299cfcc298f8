import type { Content, SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { count, preview, seconds, shortId, size, usd } from './figures.ts';

/** What is worth saying of one event, whatever its type: members of its data by name, bodies in short. */

const errorTypes: ReadonlySet<string> = new Set([
  'tool.unknown',
  'task.abandoned',
  'task.timed-out',
  'goal.rejected',
  'plan.rejected',
  'key.denied',
]);

/** Whether an event says that something did not go as wanted. */
export const isError = (type: string): boolean =>
  errorTypes.has(type) || type.endsWith('.failed') || type.endsWith('.denied');

type Say = (data: JsonObject, openedAtMs: number) => string | undefined;

const textOf = (data: JsonObject, name: string): string => {
  const value = data[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
};

const member =
  (name: string, label = ''): Say =>
  (data) => {
    const value = textOf(data, name);
    return value === '' ? undefined : `${label}${value}`;
  };

const sayTask: Say = (data) => {
  const task = textOf(data, 'task');
  const attempt = Number(data['attempt'] ?? 1);
  if (task === '') return attempt > 1 ? `attempt ${attempt}` : undefined;
  return attempt > 1 ? `task ${task} (attempt ${attempt})` : `task ${task}`;
};

const sayAgent: Say = (data) => {
  const agent = textOf(data, 'agent');
  const pool = textOf(data, 'pool');
  if (agent === '') return pool === '' ? undefined : `pool ${pool}`;
  return pool === '' ? `agent ${agent}` : `agent ${agent} of ${pool}`;
};

const sayCall: Say = (data) => {
  const call = textOf(data, 'call');
  return call === '' ? undefined : shortId(call);
};

const sayTokens: Say = (data) => {
  if (typeof data['inputTokens'] !== 'number') return undefined;
  return `${data['inputTokens']} in, ${textOf(data, 'outputTokens')} out`;
};

const sayCost: Say = (data) => {
  const cost = data['costNanoUsd'];
  return typeof cost === 'number' ? usd(cost) : undefined;
};

const sayDuration: Say = ({ durationMs }) =>
  typeof durationMs === 'number' ? `${durationMs} ms` : undefined;

const sayDue: Say = ({ dueAtMs, deadlineAtMs }, openedAtMs) => {
  const due = dueAtMs ?? deadlineAtMs;
  if (typeof due !== 'number') return undefined;
  return `${dueAtMs === undefined ? 'until' : 'due'} +${seconds(due - openedAtMs)}`;
};

const sayLists: Say = ({ tasks, destinations, violations }) => {
  if (Array.isArray(tasks)) return count(tasks.length, 'task');
  if (typeof violations === 'number') return count(violations, 'violation');
  return Array.isArray(destinations) ? destinations.join(', ') : undefined;
};

const says: readonly Say[] = [
  member('plan', 'plan '),
  sayTask,
  sayAgent,
  member('tool'),
  member('model'),
  sayCall,
  member('timer'),
  member('status'),
  member('finishReason'),
  member('code'),
  member('class'),
  member('check', 'check '),
  member('because', 'because of '),
  member('requestedBy', 'by '),
  member('effect'),
  member('isolation'),
  member('exit'),
  sayLists,
  sayDue,
  sayDuration,
  sayTokens,
  sayCost,
];

/** Bodies that say nothing in a line: what is pinned, and plans. */
const passedOver: ReadonlySet<string> = new Set(['catalog', 'plan']);
const previewCharacters = 72;
const messageCharacters = 240;

function sayContent([name, content]: readonly [string, Content]): string {
  const { body, bytes } = content;
  if (body === undefined) return `${name} (${size(bytes)}, its body is nowhere)`;
  if (passedOver.has(name)) return `${name} (${size(bytes)})`;
  const isMessage = name === 'message' || name === 'reason' || name === 'fix';
  if (isMessage && typeof body === 'string') return preview(body, messageCharacters);
  return `${name} ${preview(body, previewCharacters)}`;
}

/** The important data of an event, in one line. */
export function eventText(event: SeenEvent, openedAtMs: number): string {
  const data = event.data as unknown as JsonObject;
  const said = says.flatMap((say) => say(data, openedAtMs) ?? []);
  const bodies = Object.entries(event.content as Readonly<Record<string, Content>>);
  const [facts, contents] = [said.join(', '), bodies.map(sayContent).join('; ')];
  return facts === '' || contents === '' ? facts + contents : `${facts}: ${contents}`;
}
