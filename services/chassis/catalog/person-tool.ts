/** The one tool that every catalog has: a question to a person. No runner carries it out; the agent waits for an answer. */

import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';

/** An agent that lists it may ask. */
export const askPerson = 'ask_person';

export const askPersonTool: ToolDefinition = {
  name: askPerson,
  version: '1.0.0',
  description:
    'Asks a person and waits for the answer, which may take hours. Gives decision (answered, granted, denied or ' +
    'default), answer, by and reason. Ask before something that needs a go-ahead, or where only a person can know.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 8192 },
      choices: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 200 },
        minItems: 1,
        maxItems: 32,
      },
    },
    required: ['question'],
    additionalProperties: false,
  },
  category: 'people',
  risk: 'low',
  sideEffects: 'none',
  idempotent: true,
  runner: { kind: 'person' },
  roles: ['*'],
  timeoutMs: 30_000,
  argumentBytesMax: 262_144,
  resultBytesMax: 1_048_576,
};
