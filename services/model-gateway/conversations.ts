import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import { answer, ask } from '../chassis/context/conversation.ts';
import type { ModelMessage } from '../chassis/context/messages.ts';
import { conversationFor } from '../chassis/context/model-context.ts';
import { type Members, memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { taskEnds } from './asides.ts';
import type { KeptConversation, ModelCallEntry, ModelGatewayState } from './state.ts';

/** The fold of conversations: how long the gateway keeps what an agent and its model have said. */

type Conversations = Members<KeptConversation>;

/** A request for a summary: the steps that it is about, and its own messages. */
export function summaryOf(seen: SeenEvent<'model.requested'>): Pick<ModelCallEntry, 'summary'> {
  const { summarises } = seen.data;
  if (summarises === undefined) return {};
  const asked = bodyOf(seen.content.messages, []) as unknown as readonly ModelMessage[];
  return { summary: { summarises, asked } };
}

/** A request for vectors: the texts. */
export function embeddingOf(seen: SeenEvent<'model.requested'>): Pick<ModelCallEntry, 'embed'> {
  const { embeds, cacheMs } = seen.data;
  if (embeds === undefined) return {};
  const texts = bodyOf(seen.content.texts, []) as readonly string[];
  return { embed: cacheMs === undefined ? { texts } : { texts, cacheMs } };
}

/**
 * What was said with this request. The conversation of one attempt is kept for the next one, where the agent's template
 * says that it goes on.
 */
export function talk(state: ModelGatewayState, seen: SeenEvent<'model.requested'>): Conversations {
  const { agent, agentName, task, embeds } = seen.data;
  const { conversations, resuming = [] } = state;
  if (embeds !== undefined) return conversations;
  const { over: _over, ...kept } = conversationFor(conversations, seen) as KeptConversation;
  const asked = ask(withoutHand(kept), seen);
  if (!resuming.includes(agentName)) return withMember(conversations, agent, asked);
  const earlier = Object.entries(conversations).filter(([, one]) => one.over && one.task === task);
  const rest = earlier.reduce((all, [name]) => withoutMember(all, name), conversations);
  return withMember(rest, agent, { ...asked, task });
}

/** Of who goes on with it, it is a conversation like others. */
function withoutHand(known: KeptConversation): KeptConversation {
  if (known.handedTo === undefined) return known;
  const { handedTo: _to, task: _task, ...rest } = known;
  return rest;
}

/** The state after an agent gave its task away with what was said: that stays until the other one has ended. */
export function withHandedOn(
  state: ModelGatewayState,
  { data }: SeenEvent<'task.delegated'>,
): ModelGatewayState {
  const { agent, delegated, conversation } = data;
  const known = memberOf(state.conversations, agent);
  if (conversation !== true || known === undefined) return state;
  const kept = { ...known, handedTo: delegated };
  return { ...state, conversations: withMember(state.conversations, agent, kept) };
}

/** The state after the end of a task, without a conversation that was handed on with it. */
export function withoutHandedOn(state: ModelGatewayState, { type, data }: SeenEvent) {
  if (!type.startsWith('task.') || !('task' in data) || !taskEnds.has(type)) return state;
  const entries = Object.entries(state.conversations);
  const left = entries.filter(
    ([, { handedTo }]) => handedTo === undefined || handedTo !== data.task,
  );
  if (left.length === entries.length) return state;
  return { ...state, conversations: Object.fromEntries(left) };
}

/** What was said with this answer. Nobody hears one that came after its agent's end, or one that is a summary. */
export function heard(
  conversations: Conversations,
  entry: ModelCallEntry,
  seen: SeenEvent<'model.completed'>,
): Conversations {
  const known = memberOf(conversations, entry.agent);
  if (known === undefined || known.over === true) return conversations;
  if (entry.summary !== undefined || entry.embed !== undefined) return conversations;
  return withMember(conversations, entry.agent, answer(known, seen));
}

/** The conversations without that of this agent, which did what it was for. */
export const completed = (conversations: Conversations, agent: string): Conversations =>
  memberOf(conversations, agent)?.task === undefined ||
  memberOf(conversations, agent)?.handedTo !== undefined
    ? conversations
    : withoutMember(conversations, agent);

/** The conversations once this agent is gone: what another attempt may go on with stays. */
export function dropped({ conversations, ended }: ModelGatewayState, agent: string): Conversations {
  const known = memberOf(conversations, agent);
  if (known?.handedTo !== undefined && !ended.session) return conversations;
  if (known?.task === undefined || ended.session) return withoutMember(conversations, agent);
  return withMember(conversations, agent, { ...known, over: true });
}

/** The conversations once the session has ended: nothing is tried again. */
export function afterSession(conversations: Conversations): Conversations {
  const live = Object.entries(conversations).filter(([, { over }]) => over !== true);
  return Object.fromEntries(live);
}
