import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { FakeModel } from './memory-models.ts';

/** Agents and models of tests in which agents give work to others. */

/** Counts, and says what it was asked to do. */
export const tally = `
kind: procedure
name: tally
version: 1.0.0
description: Counts.
role: tester
tools: [test.count]
steps:
  - { id: count, tool: test.count, arguments: { counter: =input.counter } }
output: { counted: =input.counter, goal: =input.goal }
`;

/** A model with the tools to give work to this agent; `more` are lines of its file. */
export const giverOf = (agent: string, more = ''): Readonly<Record<string, string>> => ({
  'agents/giver.yaml': `
kind: model
name: giver
version: 1.0.0
description: Gives work to another.
role: tester
tools: [test.echo, test.count, delegate, handoff]
model: scripted/giver
prompt: =input.goal
delegates: { agents: [${agent}] }
handoffs: { agents: [${agent}] }
${more}
`,
});

export type Asked = Parameters<FakeModel>[0];

/** Results of calls that the model was told. */
export const told = ({ messages }: Asked): JsonValue[] =>
  messages.flatMap((one) => (one.role === 'tool' ? [one.result] : []));

/** A call as a model asks for it. */
export const callOf = (name: string, given: JsonObject) => ({ name, arguments: given });

/** Hands on where the goal says `hand on`, delegates else, and ends with what it was told. */
export const givesTo =
  (agent: string): FakeModel =>
  (request) => {
    const results = told(request);
    if (results.length > 0) return { text: JSON.stringify(results) };
    const isHandoff = JSON.stringify(request.messages).includes('hand on');
    const given = { agent, ...(isHandoff ? { summary: 'Go.' } : { goal: 'Go.' }) };
    return { text: '', calls: [callOf(isHandoff ? 'handoff' : 'delegate', given)] };
  };
