import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProcedureAgent } from '../../../../../schemas/definitions/agent.ts';
import type { ToolDefinition } from '../../../../../schemas/definitions/tool.ts';
import type { SeenEvent } from '../../../../../schemas/event.ts';
import { builtInTools } from '../../../../../services/chassis/catalog/built-in-tools.ts';
import { validateDelegation } from '../../../../../services/chassis/catalog/delegation-rules.ts';
import {
  beyondGiver,
  foldDelegated,
  noDelegations,
} from '../../../../../services/tool-guard/delegations.ts';

/** Rights of who is given work, whatever templates say: by the catalog, and by the guard for what it lets through. */

const names = ['a', 'b', 'c', 'd'];
const toolNames = ['read', 'write', 'send'];
const roles = ['one', 'two'];
const someOf = (all: readonly string[], maxLength = 3) =>
  fc.uniqueArray(fc.constantFrom(...all), { maxLength });

const toolsOf = fc.tuple(...toolNames.map(() => someOf(['one', 'two', '*'], 2))).map((all) =>
  Object.fromEntries(
    all.map((allowed, index): [string, ToolDefinition] => {
      const name = toolNames[index] ?? '';
      const tool = builtInTools['ask_person'] as ToolDefinition;
      return [name, { ...tool, name, roles: allowed }];
    }),
  ),
);

type Drawn = Readonly<{
  role: string;
  tools: readonly string[];
  to: readonly string[];
  on: readonly string[];
}>;

const drawn: fc.Arbitrary<Drawn> = fc.record({
  role: fc.constantFrom(...roles),
  tools: someOf(toolNames),
  to: someOf(names, 2),
  on: someOf(names, 2),
});

function agentOf(name: string, { role, tools, to, on }: Drawn): ProcedureAgent {
  const policy = { depthMax: 8, parallelMax: 4, countMax: 9, budgetPercentMax: 50 };
  return {
    ...{
      kind: 'procedure',
      name,
      version: '1.0.0',
      description: name,
      role,
      steps: [],
      output: null,
    },
    tools: [
      ...tools,
      ...(to.length > 0 ? ['delegate'] : []),
      ...(on.length > 0 ? ['handoff'] : []),
    ],
    ...(to.length > 0 ? { delegates: { agents: to, ...policy } } : {}),
    ...(on.length > 0 ? { handoffs: { agents: on, with: 'summary', handoffsMax: 4 } } : {}),
  };
}

const worlds = fc.record({ agents: fc.tuple(...names.map(() => drawn)), tools: toolsOf });

type World = Readonly<{
  agents: Record<string, ProcedureAgent>;
  tools: Record<string, ToolDefinition>;
}>;

const worldOf = (of: Readonly<{ agents: readonly Drawn[]; tools: World['tools'] }>): World => ({
  tools: { ...of.tools, ...builtInTools },
  agents: Object.fromEntries(
    of.agents.map((one, index) => [names[index] ?? '', agentOf(names[index] ?? '', one)]),
  ),
});

const may = ({ tools }: World, agent: ProcedureAgent | undefined, name: string): boolean => {
  const allowed = tools[name]?.roles ?? [];
  return (
    agent?.tools.includes(name) === true && (allowed.includes('*') || allowed.includes(agent.role))
  );
};

/** A walk of gifts through the templates, from the first agent on. */
type Gift = Readonly<{ by: string; to: string; kind: 'delegate' | 'handoff' }>;

function walkOf({ agents }: World, choices: readonly number[]): readonly Gift[] {
  const walk: Gift[] = [];
  let by = 'a';
  for (const choice of choices) {
    const kind = choice % 2 === 0 ? 'delegate' : 'handoff';
    const list = (kind === 'delegate' ? agents[by]?.delegates : agents[by]?.handoffs)?.agents ?? [];
    const to = list[choice % Math.max(1, list.length)];
    if (to === undefined) return walk;
    walk.push({ by, to, kind });
    by = to;
  }
  return walk;
}

const choices = fc.array(fc.nat(100), { maxLength: 5 });

/** Agents whose rights bound those at the end of the walk. */
const above = (walk: readonly Gift[]): readonly string[] =>
  walk.filter(({ kind }) => kind === 'delegate').map(({ by }) => by);

test('in a catalog without problems nobody who is given work may do what who delegated may not', () => {
  fc.assert(
    fc.property(worlds, choices, (of, steps) => {
      const world = worldOf(of);
      const known = { ...world, names };
      const sound = Object.values(world.agents).every(
        (one) => validateDelegation(one, known).length === 0,
      );
      fc.pre(sound);
      const walk = walkOf(world, steps);
      const last = world.agents[walk.at(-1)?.to ?? 'a'];
      for (const tool of toolNames)
        if (may(world, last, tool))
          for (const by of above(walk)) expect(may(world, world.agents[by], tool)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('the guard denies what anybody above who delegated may not call, and nothing else for that reason', () => {
  fc.assert(
    fc.property(worlds, choices, (of, steps) => {
      const world = worldOf(of);
      const walk = walkOf(world, steps);
      let task = 'one';
      const delegations = walk.reduce((known, { by, to, kind }) => {
        const delegated = `${task}/1`;
        const data = {
          delegated,
          kind,
          task,
          agentName: by,
          to,
          depth: 1,
          depthMax: 8,
          handoffs: 0,
          ordinal: 1,
        };
        task = delegated;
        return foldDelegated(known, { data } as unknown as SeenEvent<'task.delegated'>);
      }, noDelegations);
      for (const tool of toolNames) {
        const call = {
          task,
          agents: world.agents,
          definition: world.tools[tool] as ToolDefinition,
        };
        const allowed = above(walk).every((by) => may(world, world.agents[by], tool));
        expect(beyondGiver(delegations, call) === undefined).toBe(allowed);
      }
    }),
    { numRuns: 300 },
  );
});
