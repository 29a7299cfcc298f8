/** Which models `longrein doctor` looks for. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { modelsNamed } from '../../../../../services/console/cli/model-names.ts';

let catalog: string;
beforeEach(() => {
  catalog = mkdtempSync(join(tmpdir(), 'longrein-models-'));
  for (const folder of ['agents', 'plans']) mkdirSync(join(catalog, folder));
  writeFileSync(join(catalog, 'models.yaml'), 'writer: [openai/gpt-4o, openrouter/small]\n');
  writeFileSync(
    join(catalog, 'agents', 'reader.yaml'),
    `name: reader
version: 1.0.0
kind: model
description: Reads.
role: worker
model: one/first
system: You read.
context:
  tokensMax: 8000
  overflow: summarise
  summary:
    model: two/summary
onError:
  models: [three/second]
  replaceWith:
    - model: four/third
prompt: Read.
output: text
`,
  );
  writeFileSync(
    join(catalog, 'plans', 'free.yaml'),
    `name: free
version: 1.0.0
description: A plan that a model makes.
inputs: {}
planning:
  model: five/planner
  guidance: Read.
  agents:
    - agent: reader
      pool: default
output:
  kind: synthesis
  synthesis:
    model: six/writer
    guidance: Write.
`,
  );
});
afterEach(() => rmSync(catalog, { recursive: true, force: true }));

const direct = ['five/planner', 'four/third', 'one/first', 'six/writer', 'three/second'];

it('aliases, and every model that an agent or a plan names itself', () => {
  const all = [...direct, 'two/summary', 'openai/gpt-4o', 'openrouter/small'].sort();
  expect(modelsNamed({ LONGREIN_CATALOG: catalog })).toEqual(all);
});

it('a chosen model stands in the place of the aliases, not of what is named itself', () => {
  const named = modelsNamed({ LONGREIN_CATALOG: catalog, LONGREIN_MODEL: 'anthropic/one' });
  expect(named).toEqual([...direct, 'two/summary', 'anthropic/one'].sort());
});
