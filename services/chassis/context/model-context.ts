/**
 * What was sent to a model, exactly, folded from the log: for the gateway that sends it, and for whoever asks later
 * (`replay context`). Nothing here estimates or chooses: what a request leaves out stands in the request.
 */

import type { PinnedCatalog } from '../../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import { bodyOf, type EventAddress, type SeenEvent } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { type Members, memberOf, withMember } from '../effects/member.ts';
import {
  answer,
  ask,
  type Conversation,
  emptyConversation,
  messagesOf,
  summaryMessages,
} from './conversation.ts';
import type { ModelMessage, ModelTool } from './messages.ts';

/** One request to a model with all that it says. `address` is that of its `model.requested`. */
export type ModelContext = Readonly<{
  call: string;
  agent: string;
  agentName: string;
  task: string;
  attempt: number;
  step: number;
  /** `summary`, of the context policy, and `embedding`, of texts, are not part of the conversation. */
  purpose: 'answer' | 'summary' | 'embedding';
  /** As it was asked for: who answered is said by the outcome. */
  model: string;
  messages: readonly ModelMessage[];
  tools: readonly ModelTool[];
  outputTokensMax: number;
  timeoutMs: number;
  /** The agent's input, for the scripted provider. */
  input: JsonValue;
  /** Steps of the conversation that this request does not hold. */
  omitted: readonly number[];
  address: EventAddress;
  atMs: number;
}>;

type Request = SeenEvent<'model.requested'>;

/** The conversations of a session. `open` are requests without an answer, by call. */
export type Contexts = Readonly<{
  tools: Members<ToolDefinition>;
  conversations: Members<Conversation>;
  open: Members<Request>;
}>;

export const noContexts: Contexts = { tools: {}, conversations: {}, open: {} };

/** The conversation that a request goes on with: its agent's own, or that of the attempt before. */
export function conversationFor(
  conversations: Members<Conversation>,
  { data }: Request,
): Conversation {
  const earlier = data.resumes === undefined ? undefined : memberOf(conversations, data.resumes);
  return memberOf(conversations, data.agent) ?? earlier ?? emptyConversation;
}

function foldRequest(known: Contexts, seen: Request): Contexts {
  const { call, agent } = seen.data;
  const conversation = ask(conversationFor(known.conversations, seen), seen);
  return {
    ...known,
    conversations: withMember(known.conversations, agent, conversation),
    open: withMember(known.open, call, seen),
  };
}

function foldAnswer(known: Contexts, seen: SeenEvent<'model.completed'>): Contexts {
  const request = memberOf(known.open, seen.data.call);
  if (request === undefined || purposeOf(request) !== 'answer') return known;
  const { agent } = request.data;
  const conversation = memberOf(known.conversations, agent) ?? emptyConversation;
  const answered = withMember(known.conversations, agent, answer(conversation, seen));
  return { ...known, conversations: answered };
}

/** What is answered after its agent has ended is not said to anybody. */
function foldEnd(known: Contexts, agent: string): Contexts {
  const open = Object.entries(known.open).filter(([, { data }]) => data.agent !== agent);
  return { ...known, open: Object.fromEntries(open) };
}

/** The same object when the event is not about a conversation. Give it effective events, in the order of the log. */
export function foldContexts(known: Contexts, seen: SeenEvent): Contexts {
  switch (seen.type) {
    case 'plan.accepted': {
      const catalog = bodyOf(seen.content.catalog) as unknown as PinnedCatalog;
      return { ...known, tools: catalog.tools };
    }
    case 'model.requested':
      return foldRequest(known, seen);
    case 'model.completed':
      return foldAnswer(known, seen);
    case 'agent.cleaned-up':
      return foldEnd(known, seen.data.agent);
    default:
      return known;
  }
}

/** Tools as a model gets to know them; names that the session does not pin are left out. */
export function toolsOf(
  tools: Members<ToolDefinition>,
  names: readonly string[],
): readonly ModelTool[] {
  return names.flatMap((asked) => {
    const tool = memberOf(tools, asked);
    if (tool === undefined) return [];
    return [{ name: tool.name, description: tool.description, inputSchema: tool.inputSchema }];
  });
}

/** Steps that were answered and are not in the conversation any more. */
function omittedOf({ steps, step = 1 }: Conversation): readonly number[] {
  if (steps === undefined) return [];
  return Array.from({ length: step - 1 }, (_, index) => index + 1).filter(
    (one) => !steps.includes(one),
  );
}

function purposeOf({ data }: Request): ModelContext['purpose'] {
  if (data.embeds !== undefined) return 'embedding';
  return data.summarises === undefined ? 'answer' : 'summary';
}

/** Texts of an embedding are shown as what a user says. */
function messagesFor(seen: Request, conversation: Conversation): readonly ModelMessage[] {
  const { messages, texts } = seen.content;
  const asked = bodyOf(messages, []) as unknown as readonly ModelMessage[];
  switch (purposeOf(seen)) {
    case 'answer':
      return messagesOf(conversation);
    case 'summary':
      return summaryMessages(conversation, seen.data, asked);
    case 'embedding':
      return (bodyOf(texts, []) as readonly string[]).map((text) => ({ role: 'user', text }));
  }
}

function contextOf(known: Contexts, seen: Request): ModelContext {
  const { call, agent, agentName, task, attempt, step, model } = seen.data;
  const { outputTokensMax, timeoutMs, tools } = seen.data;
  const conversation = conversationFor(known.conversations, seen);
  const { record, index, atMs } = seen;
  return {
    ...{ call, agent, agentName, task, attempt, step, model, outputTokensMax, timeoutMs },
    purpose: purposeOf(seen),
    messages: messagesFor(seen, conversation),
    tools: toolsOf(known.tools, tools),
    input: conversation.input,
    omitted: omittedOf(conversation),
    address: { record, index },
    atMs,
  };
}

/** What the request with this call id said; undefined if there is none. Events as for `foldContexts`. */
export function contextOfCall(events: Iterable<SeenEvent>, call: string): ModelContext | undefined {
  let known = noContexts;
  for (const seen of events) {
    known = foldContexts(known, seen);
    if (seen.type === 'model.requested' && seen.data.call === call) return contextOf(known, seen);
  }
  return undefined;
}

/** The agent that an event is about; calls name theirs by `callers`. */
function agentOf({ data }: SeenEvent, callers: ReadonlyMap<string, string>): string | undefined {
  if ('agent' in data && typeof data.agent === 'string') return data.agent;
  return 'call' in data && typeof data.call === 'string' ? callers.get(data.call) : undefined;
}

/**
 * The context of the agent that the event at this address is about: its newest request up to there. Undefined where the
 * event is about no agent, or its agent has asked no model yet. Events as for `foldContexts`.
 */
export function contextAt(events: Iterable<SeenEvent>, at: EventAddress): ModelContext | undefined {
  let known = noContexts;
  const callers = new Map<string, string>();
  const newest = new Map<string, ModelContext>();
  for (const seen of events) {
    known = foldContexts(known, seen);
    if ('call' in seen.data && 'agent' in seen.data)
      callers.set(String(seen.data.call), String(seen.data.agent));
    if (seen.type === 'model.requested') newest.set(seen.data.agent, contextOf(known, seen));
    if (seen.record !== at.record || seen.index !== at.index) continue;
    const agent = agentOf(seen, callers);
    return agent === undefined ? undefined : newest.get(agent);
  }
  return undefined;
}

/** Every request to a model, in the order of the log, with its context. */
export function contextsOf(events: Iterable<SeenEvent>): readonly ModelContext[] {
  let known = noContexts;
  const found: ModelContext[] = [];
  for (const seen of events) {
    known = foldContexts(known, seen);
    if (seen.type === 'model.requested') found.push(contextOf(known, seen));
  }
  return found;
}
