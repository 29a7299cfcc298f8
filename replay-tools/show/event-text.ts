import type { Content, SeenEvent } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { replayedPrice } from '../../services/chassis/protocol/event-kinds.ts';
import { count, preview, seconds, shortId, size, usd } from './figures.ts';

/** What is worth saying of one event, whatever its type: members of its data by name, bodies in short. */

const errorTypes: ReadonlySet<string> = new Set([
  'model.attempt-failed',
  'tool.unknown',
  'task.abandoned',
  'task.timed-out',
  'goal.rejected',
  'plan.rejected',
  'key.denied',
]);

const housekeeping: ReadonlySet<string> = new Set([
  'agent.provisioned',
  'agent.started',
  'agent.cleaned-up',
  'timer.set',
  'timer.cancelled',
  'delivery.acknowledged',
  'budget.reserved',
  'plan.proposed',
]);

/** Whether an event keeps the house in order, and says nothing of what was asked for. */
export const isHousekeeping = (type: string): boolean => housekeeping.has(type);

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
  if (typeof data['call'] === 'string') return undefined;
  return attempt > 1 ? `task ${task} (attempt ${attempt})` : `task ${task}`;
};

const sayAgent: Say = (data) => {
  const agent = textOf(data, 'agent');
  const pool = textOf(data, 'pool');
  if (agent === '') return pool === '' ? undefined : `pool ${pool}`;
  return pool === '' ? `agent ${agent}` : `agent ${agent} of ${pool}`;
};

/** Who does which task from now on; or what it came to. */
const sayDelegated: Say = (data) => {
  const delegated = textOf(data, 'delegated');
  if (delegated === '') return undefined;
  const outcome = textOf(data, 'outcome');
  return `${textOf(data, 'to')} does ${delegated}${outcome === '' ? '' : ` (${outcome})`}`;
};

const sayCall: Say = (data) => {
  const call = textOf(data, 'call');
  return call === '' ? undefined : shortId(call);
};

/** Nothing is said of what took no tokens and cost nothing. */
const isFree = (data: JsonObject): boolean =>
  [data['inputTokens'], data['outputTokens'], data['costNanoUsd']].every((one) => !one);

const sayTokens: Say = (data) => {
  if (typeof data['inputTokens'] !== 'number' || isFree(data)) return undefined;
  return `${data['inputTokens']} in, ${textOf(data, 'outputTokens')} out`;
};

const sayCost: Say = (data) => {
  const cost = data['costNanoUsd'];
  if (textOf(data, 'priceVersion') === replayedPrice) return 'replayed for nothing';
  return typeof cost === 'number' && !isFree(data) ? usd(cost) : undefined;
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

/** What an event is about, first; what it cost and took; what else it says, last. */
const subjects: readonly Say[] = [
  member('plan', 'plan '),
  sayDelegated,
  member('tool'),
  member('model'),
  member('timer'),
  member('status'),
  member('code'),
  member('check', 'check '),
];
const amounts: readonly Say[] = [sayCost, sayTokens, sayDuration, sayDue, sayLists];
const details: readonly Say[] = [
  sayTask,
  sayAgent,
  member('class'),
  member('finishReason'),
  member('because', 'because of '),
  member('requestedBy', 'by '),
  member('effect'),
  member('isolation'),
  member('exit'),
  sayCall,
];

/** Events of tasks and agents are about these, and not about what they happen with. */
function ordered(type: string): readonly (readonly Say[])[] {
  const own = { 'task.': sayTask, 'agent.': sayAgent }[type.slice(0, type.indexOf('.') + 1)];
  if (own === undefined) return [subjects, amounts, details];
  // The name of an agent holds its task.
  const passed = type.startsWith('agent.') ? sayTask : own;
  return [[own, ...subjects], amounts, details.filter((say) => say !== own && say !== passed)];
}

/** Bodies that say nothing in a line: what is pinned, and plans. */
const passedOver: ReadonlySet<string> = new Set(['catalog', 'plan']);
const previewCharacters = 72;
const messageCharacters = 400;

/** Of a conversation what was said last. */
function newestOf(body: JsonValue): JsonValue {
  const last = Array.isArray(body) ? body.at(-1) : body;
  if (typeof last !== 'object' || last === null || Array.isArray(last)) return last ?? '';
  return last['text'] ?? last['result'] ?? last;
}

type Answer = Readonly<{ text: string; toolCalls: readonly JsonValue[] }>;

const isAnswer = (body: JsonValue): body is Answer & JsonObject =>
  typeof body === 'object' && body !== null && 'toolCalls' in body && 'text' in body;

/** What a model said, or what it wants called. */
function saidIn({ text, toolCalls }: Answer): string {
  const calls = toolCalls.map((call) => {
    const { name, arguments: given } = call as Readonly<Record<string, JsonValue>>;
    return `${name}(${JSON.stringify(given ?? {})})`;
  });
  return [...(text === '' ? [] : [text]), ...calls].join(' ');
}

function sayContent([name, content]: readonly [string, Content]): string {
  const { body, bytes } = content;
  if (body === undefined) return `${name} (${size(bytes)}, its body is nowhere)`;
  if (passedOver.has(name)) return `${name} (${size(bytes)})`;
  if (isAnswer(body)) return preview(saidIn(body), previewCharacters);
  const isMessage = name === 'message' || name === 'reason' || name === 'fix';
  if (isMessage && typeof body === 'string') return preview(body, messageCharacters);
  if (name === 'messages') return preview(newestOf(body), previewCharacters);
  return `${name} ${preview(body, previewCharacters)}`;
}

/** The important data of an event, in one line: `subject, amounts: bodies (details)`. */
export function eventText(event: SeenEvent, openedAtMs: number): string {
  const data = event.data as unknown as JsonObject;
  const say = (list: readonly Say[]): string[] =>
    list.flatMap((one) => one(data, openedAtMs) ?? []);
  const [about = [], took = [], rest = []] = ordered(event.type).map(say);
  const bodies = Object.entries(event.content as Readonly<Record<string, Content>>).map(sayContent);
  const head = [[...about, ...took].join(', '), bodies.join('; ')].filter((text) => text !== '');
  if (rest.length === 0) return head.join(': ');
  return head.length === 0 ? rest.join(', ') : `${head.join(': ')} (${rest.join(', ')})`;
}
