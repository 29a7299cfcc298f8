/** Files of agents that heal themselves, for tests that let them. */

type Files = Readonly<Record<string, string>>;

/** A model `fixer` that says a number, healed as `onError` says, and `simple`, which always says 7. `more`: lines of its file. */
export const fixerFiles = (onError: string, more = ''): Files => ({
  'agents/fixer.yaml': `
kind: model
name: fixer
version: 1.0.0
description: Answers with a number.
role: tester
tools: [test.echo]
model: scripted/first
prompt: Say the number.
repairsMax: 0
outputSchema: { type: object, properties: { number: { type: integer } }, required: [number] }
onError: ${onError}
${more}
`,
  'agents/simple.yaml': `
kind: procedure
name: simple
version: 1.0.0
description: Answers with a number.
role: tester
tools: [test.echo]
steps: [{ id: said, tool: test.echo, arguments: { number: 7 } }]
output: =steps.said
`,
});

/** `caller` says its `text` through a tool, and its template has a breaker; `counting` counts in its place. `more`: of `onError`. */
export const callerFiles = (text: string, breaker: string, more = ''): Files => ({
  'agents/caller.yaml': `
kind: procedure
name: caller
version: 1.0.0
description: Calls.
role: tester
tools: [test.echo]
steps: [{ id: said, tool: test.echo, arguments: { text: ${text} } }]
output: =steps.said
onError:
  ${more}
  replaceWith: [{ agent: counting }]
  breaker: { failuresMax: 2, coolMs: 20000, ${breaker} }
`,
  'agents/counting.yaml': `
kind: procedure
name: counting
version: 1.0.0
description: Counts instead.
role: tester
tools: [test.count]
steps: [{ id: counted, tool: test.count, arguments: { counter: a } }]
output: { counted: true }
`,
});
