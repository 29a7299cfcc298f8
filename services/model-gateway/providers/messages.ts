/**
 * Turns our conversation and tools into the AI SDK's, and nothing else. Tools never get an
 * `execute`.
 */

import {
  type JSONValue,
  jsonSchema,
  type ModelMessage as SdkMessage,
  type ToolSet,
  tool,
} from 'ai';
import type { ModelMessage, ModelRequest, ModelToolCall } from './port.ts';
import { type Reasoning, readReasoning } from './reasoning.ts';
import type { ToolNames } from './tool-names.ts';

type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;
type AssistantPart = Exclude<Extract<SdkMessage, { role: 'assistant' }>['content'], string>[number];
type UserMessage = Extract<ModelMessage, { role: 'user' }>;
type UserContent = Extract<SdkMessage, { role: 'user' }>['content'];
type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;
type ToolResult = Extract<
  Extract<SdkMessage, { role: 'tool' }>['content'][number],
  { type: 'tool-result' }
>;

/** The conversation for the provider called `provider`; system texts travel apart. */
export function toSdkMessages(
  request: ModelRequest,
  provider: string,
  names: ToolNames,
): SdkMessage[] {
  return request.messages.flatMap((message): SdkMessage[] => {
    if (message.role === 'system') return [];
    if (message.role === 'user') return [{ role: 'user', content: userContent(message) }];
    if (message.role === 'tool') return [{ role: 'tool', content: [toolResult(message, names)] }];
    return [{ role: 'assistant', content: assistantParts(message, provider, names) }];
  });
}

function userContent({ text, files = [] }: UserMessage): UserContent {
  if (files.length === 0) return text;
  const parts = files.map(({ mediaType, base64 = '' }) => {
    return { type: 'file' as const, mediaType, data: base64 };
  });
  return [{ type: 'text', text }, ...parts];
}

/** All system texts as one: some providers refuse them anywhere but in front. */
export function systemTextOf(request: ModelRequest): string | undefined {
  const texts = request.messages.filter((each) => each.role === 'system').map((each) => each.text);
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

/** The tools on offer, or undefined for none: an empty list is an error for some providers. */
export function toSdkTools(request: ModelRequest, names: ToolNames): ToolSet | undefined {
  if (request.tools.length === 0) return undefined;
  const entries = request.tools.map(({ name, description, inputSchema }) => [
    names.toWire(name),
    tool({ description, inputSchema: jsonSchema({ ...inputSchema }) }),
  ]);
  return Object.fromEntries(entries);
}

function assistantParts(
  message: AssistantMessage,
  provider: string,
  names: ToolNames,
): AssistantPart[] {
  const reasoning = readReasoning(message.reasoning, provider);
  const calls = message.toolCalls.map((call) => callPart(call, reasoning, names));
  // An empty text is refused beside calls, and no content at all is refused as well.
  const hasText = message.text !== '' || calls.length === 0;
  const texts: AssistantPart[] = hasText ? [{ type: 'text', text: message.text }] : [];
  return [...reasoning.parts, ...texts, ...calls];
}

function callPart(call: ModelToolCall, reasoning: Reasoning, names: ToolNames): AssistantPart {
  const providerOptions = reasoning.calls.get(call.id);
  return {
    type: 'tool-call',
    toolCallId: call.id,
    toolName: names.toWire(call.name),
    // Arguments that were not JSON are shown to the model as it wrote them, inside an object.
    input: typeof call.arguments === 'string' ? { text: call.arguments } : call.arguments,
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

function toolResult(message: ToolMessage, names: ToolNames): ToolResult {
  return {
    type: 'tool-result',
    toolCallId: message.toolCallId,
    toolName: names.toWire(message.toolName),
    output: toolOutput(message),
  };
}

function toolOutput({ result, isError }: ToolMessage): ToolResult['output'] {
  if (typeof result === 'string') return { type: isError ? 'error-text' : 'text', value: result };
  // The SDK's JSON type is the same without readonly.
  const value: JSONValue = JSON.parse(JSON.stringify(result));
  return { type: isError ? 'error-json' : 'json', value };
}
