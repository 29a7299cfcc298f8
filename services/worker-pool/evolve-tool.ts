/** The fold of an agent's tool calls. */

import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { memberOf, withMember } from '../chassis/effects/member.ts';
import { canonical, sha256 } from '../chassis/protocol/hash.ts';
import { failureOf, type ToolFailureEvent } from './failures.ts';
import type { AgentEntry, Failure, ToolCallEntry } from './state.ts';

type Part = Partial<AgentEntry>;
type EndedEvent = SeenEvent<'tool.completed'> | ToolFailureEvent;

const signatureOf = (...parts: readonly string[]): string => sha256(parts.join('\n')).slice(0, 24);

/** The agent after it asked for a call. `watched`: loops are looked for. */
export function askedTool(
  { tools, calls, usage }: AgentEntry,
  watched: boolean,
  seen: SeenEvent<'tool.requested'>,
): Part {
  const { call, step, tool } = seen.data;
  const entry = { call, step, tool };
  const { digest } = seen.content.arguments;
  const asked = watched ? { ...entry, signature: signatureOf(tool, digest) } : entry;
  // A call of the attempt before that is made anew takes its place.
  const place = tools.findIndex((one) => one.call === '');
  return {
    tools: place < 0 ? [...tools, asked] : tools.with(place, asked),
    calls: calls + 1,
    usage: { ...usage, steps: Math.max(usage.steps, step), toolCalls: usage.toolCalls + 1 },
  };
}

function withEnd(entry: ToolCallEntry, seen: EndedEvent): ToolCallEntry {
  const { signature } = entry;
  if (seen.type === 'tool.completed') {
    const { digest } = seen.content.result;
    const told = signature === undefined ? {} : { signature: signatureOf(signature, digest) };
    return { ...entry, result: bodyOf(seen.content.result), ...told };
  }
  const failure = failureOf(seen);
  const { code, message } = failure;
  const told = signature === undefined ? {} : { signature: signatureOf(signature, code, message) };
  return { ...entry, failure, ...told };
}

/** The agent after a call of its ended that was no call of a tool. */
export function endedCall(
  entry: AgentEntry,
  call: string,
  end: Readonly<{ result: JsonValue }> | Readonly<{ failure: Failure }>,
): Part {
  const told = 'result' in end ? canonical(end.result) : end.failure.code + end.failure.message;
  const tools = entry.tools.map((one) => {
    if (one.call !== call) return one;
    const { signature } = one;
    return {
      ...one,
      ...end,
      ...(signature === undefined ? {} : { signature: signatureOf(signature, told) }),
    };
  });
  const signature = tools.find((one) => one.call === call)?.signature;
  return { tools, ...(signature === undefined ? {} : repeated(entry, signature)) };
}

/** The agent after a call of its ended. */
export function endedTool(entry: AgentEntry, seen: EndedEvent): Part {
  const ended = entry.tools.map((one) => (one.call === seen.data.call ? withEnd(one, seen) : one));
  const signature = ended.find(({ call }) => call === seen.data.call)?.signature;
  return { tools: ended, ...(signature === undefined ? {} : repeated(entry, signature)) };
}

/** So many signatures make a generation. Those of two are known: a session of many days remembers no more. */
const generationMax = 512;

/** An agent that ended a call with this signature once more. */
function repeated(entry: AgentEntry, signature: string): Part {
  const { repeats = {} } = entry;
  const count = repeatsOf(entry, signature) + 1;
  const isFull = count === 1 && Object.keys(repeats).length >= generationMax;
  if (isFull) return { repeats: { [signature]: count }, repeatsBefore: repeats };
  return { repeats: withMember(repeats, signature, count) };
}

/** How often a call with this signature ended, as far as it is remembered. */
export const repeatsOf = (
  { repeats = {}, repeatsBefore = {} }: Pick<AgentEntry, 'repeats' | 'repeatsBefore'>,
  signature: string,
): number => memberOf(repeats, signature) ?? memberOf(repeatsBefore, signature) ?? 0;

/** The agent after the guard let a call of its through, or somebody claimed it. */
export function startedTool(
  { tools }: AgentEntry,
  seen: SeenEvent<'tool.permitted' | 'tool.claimed'>,
): Part {
  const more =
    seen.type === 'tool.claimed' ? ({ started: true } as const) : { effect: seen.data.effect };
  return { tools: tools.map((one) => (one.call === seen.data.call ? { ...one, ...more } : one)) };
}
