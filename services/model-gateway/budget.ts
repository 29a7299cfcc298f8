import { memberOf } from '../chassis/effects/member.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import type { ModelMessage, ModelTool } from './providers/port.ts';
import type { ChildPurse, ModelCallEntry, ModelGatewayState, Quote } from './state.ts';

/**
 * Money before it is spent (DESIGN 7): what a call can cost at most is held until its outcome says
 * what it did cost.
 *
 * B1 What is spent, what is held and what is left make the budget; a call is made only for what is
 *    left.
 * B2 A call that does not fit waits while others hold money that may come back; it is denied when
 *    nobody does.
 * B3 A claim that was lost may have cost all that it held: that counts as spent.
 */

export type Quotes = Readonly<Record<string, Quote>>;

const messageTokens = 16;

/** No image takes more at any provider that is known; of other files it is an estimate. */
const fileTokens = 50_000;

const filesIn = (message: ModelMessage): number =>
  'files' in message ? (message.files?.length ?? 0) : 0;

function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    // A surrogate pair is two units and four bytes.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

/** Messages never change: each is counted once, however long the conversation gets. */
const counted = new WeakMap<ModelMessage, number>();

function bytesOf(message: ModelMessage): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const bytes = utf8Bytes(canonical(message));
  counted.set(message, bytes);
  return bytes;
}

/**
 * Input tokens of a request, estimated on the safe side: half its bytes, a little for each message, and much for each
 * file. Text of any language has fewer; only a run of rare characters can have more.
 */
export function inputTokensMost(
  messages: readonly ModelMessage[],
  tools: readonly ModelTool[],
): number {
  // Of a list: its brackets, its members, and the commas between them.
  const brackets = 2 + Math.max(0, messages.length - 1);
  const said = messages.reduce((sum, one) => sum + bytesOf(one), brackets);
  const bytes = said + utf8Bytes(canonical(tools));
  const files = messages.reduce((sum, one) => sum + filesIn(one), 0);
  const more = messageTokens * (messages.length + tools.length) + fileTokens * files;
  return Math.ceil(bytes / 2) + more;
}

/** What calls without an outcome hold, and child sessions that have not ended. */
export const heldNanoUsd = (state: ModelGatewayState): number =>
  [...Object.values(state.calls), ...Object.values(state.children ?? {})].reduce(
    (sum, { heldNanoUsd: held = 0 }) => sum + held,
    0,
  );

/**
 * What an outcome leaves spent: its cost, and what earlier claims of the call may have cost (B3).
 * Where nobody knows what it cost, that may be all that it held.
 */
export const settledNanoUsd = (
  { heldNanoUsd: held = 0, quote }: ModelCallEntry,
  { costNanoUsd, known }: { costNanoUsd: number; known: boolean },
): number =>
  known ? costNanoUsd + Math.max(0, held - (quote?.costNanoUsd ?? 0)) : Math.max(held, costNanoUsd);

/** What a call that is given up leaves spent: all that its claims held. */
export const abandonedNanoUsd = (state: ModelGatewayState, call: string): number =>
  memberOf(state.calls, call)?.heldNanoUsd ?? 0;

/** What children of some tasks hold. */
export const heldByChildren = (
  { children = {} }: ModelGatewayState,
  isMeant: (child: ChildPurse) => boolean,
): number =>
  Object.values(children)
    .filter(isMeant)
    .reduce((sum, { heldNanoUsd: held = 0 }) => sum + held, 0);
