import type { FakeModel } from './memory-models.ts';
import { catalogWith } from './world-proof.ts';

/** An agent that walks step after step, a model and a tool call each, and sees the newest part of its way only. */
export const wandererCatalog = () =>
  catalogWith({
    'agents/wanderer.yaml': `
kind: model
name: wanderer
version: 1.0.0
description: Walks on, and sees the newest part of its way only.
role: tester
model: tester
tools: [test.count]
prompt: walk
stepsMax: 1100
outputTokensMax: 200
modelTimeoutMs: 20000
context: { tokensMax: 3000 }
output: text
`,
    'plans/wander.yaml': `
name: wander
version: 1.0.0
description: A long walk.
inputs: {}
tasks: [{ id: walk, pool: test, agent: wanderer, timeoutMs: 86400000 }]
output: { kind: collect }
`,
  });

/** Walks so many steps. `onStep` is told before each answer. */
export function wandering(steps: number, onStep: () => void = () => undefined): FakeModel {
  let step = 0;
  return () => {
    step += 1;
    onStep();
    if (step > steps) return { text: 'There.' };
    const calls = [{ name: 'test.count', arguments: { counter: `${step}` } }];
    return { text: 'x'.repeat(150), calls };
  };
}
