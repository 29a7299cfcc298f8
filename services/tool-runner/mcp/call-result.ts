/** From what an MCP tool answered to the outcome of a call. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { JsonValue } from '../../../schemas/json.ts';
import { nestsTooDeeply } from '../../chassis/effects/nesting.ts';
import type { ToolCall, ToolOutcome } from '../../chassis/effects/tool-port.ts';
import { tooLarge, toolError } from './failure.ts';
import type { Veil } from './veil.ts';

const errorCharactersMax = 2_000;

/**
 * The result is the structured content where there is some, else `{text}` if all parts are text
 * (joined by line ends), else `{content}` as it came. An error that the tool reports, or a result
 * above the limit of the tool, is a failure.
 */
export function outcomeOf(call: ToolCall, answer: CallToolResult, veil: Veil): ToolOutcome {
  if (answer.isError === true) {
    const said = veil.cover(textOf(answer) ?? JSON.stringify(answer.content));
    const message = said.slice(0, errorCharactersMax) || `The tool ${call.tool} failed.`;
    return { kind: 'failed', error: toolError('MCP_TOOL_ERROR', message) };
  }
  const json = veil.cover(JSON.stringify(bodyOf(answer)));
  const bytes = Buffer.byteLength(json);
  const { resultBytesMax } = call.definition;
  if (bytes > resultBytesMax) {
    const what = `${bytes} bytes where ${resultBytesMax} are allowed`;
    return { kind: 'failed', error: tooLarge(call.tool, what) };
  }
  if (nestsTooDeeply(json)) {
    return { kind: 'failed', error: tooLarge(call.tool, 'it nests too deeply') };
  }
  // Through its text: what the SDK gives may hold members that are undefined.
  return { kind: 'completed', result: JSON.parse(json) as JsonValue };
}

function bodyOf(answer: CallToolResult): unknown {
  if (answer.structuredContent !== undefined) return answer.structuredContent;
  const text = textOf(answer);
  return text === undefined ? { content: answer.content } : { text };
}

function textOf(answer: CallToolResult): string | undefined {
  const texts = answer.content.map((part) => (part.type === 'text' ? part.text : undefined));
  return texts.every((text) => text !== undefined) ? texts.join('\n') : undefined;
}
