/** The last answer of a model as the output of its agent, or what is wrong with it. */

import type { ModelAgent } from '../../schemas/definitions/agent.ts';
import { type ContentDraft, json, text } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import { valueProblem } from '../chassis/value-problems.ts';

/** `problem` is a sentence without a subject, such as `is not JSON`. */
export type Output =
  | Readonly<{ output: ContentDraft }>
  | Readonly<{ code: 'OUTPUT_NOT_JSON' | 'OUTPUT_INVALID'; problem: string }>;

const fenced = /^```[a-z]*\s*\n([\s\S]*?)\n?```$/i;

/** The answer as the agent's definition wants it. */
export function readOutput(definition: ModelAgent, said: string): Output {
  if (definition.output === 'text') return { output: text(said) };
  const body = said.trim();
  try {
    const value: JsonValue = JSON.parse(fenced.exec(body)?.[1] ?? body);
    return checked(definition, value);
  } catch {
    // The parser's own words differ from release to release of the runtime, and would break replay.
    return { code: 'OUTPUT_NOT_JSON', problem: 'is not JSON' };
  }
}

function checked({ outputSchema }: ModelAgent, value: JsonValue): Output {
  const found =
    outputSchema === undefined ? undefined : valueProblem(outputSchema, value, 'the output');
  if (found === undefined) return { output: json(value) };
  if (found.kind === 'schema')
    return { code: 'OUTPUT_INVALID', problem: `cannot be checked: ${found.message}` };
  const more = found.more > 0 ? `; and ${found.more} more` : '';
  const problem = `does not fit its schema: ${found.problems.join('; ')}${more}`;
  return { code: 'OUTPUT_INVALID', problem };
}

/** What the system text says of the output; nothing where any text will do. */
export function outputRules({ output, outputSchema }: ModelAgent): string {
  if (output === 'text' || outputSchema === undefined) return '';
  return `Your last answer must be JSON and nothing else, valid against this JSON Schema: ${canonical(outputSchema)}`;
}

/** What a model is told whose output is wrong. */
export const complaintOf = (problem: string): string =>
  `Your answer ${problem}. Answer once more, with the whole corrected JSON and nothing else.`;
