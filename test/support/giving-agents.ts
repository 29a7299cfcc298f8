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

export type Asked = Parameters<FakeModel>[0];

/** Results of calls that the model was told. */
export const told = ({ messages }: Asked): JsonValue[] =>
  messages.flatMap((one) => (one.role === 'tool' ? [one.result] : []));

/** A call as a model asks for it. */
export const callOf = (name: string, given: JsonObject) => ({ name, arguments: given });
