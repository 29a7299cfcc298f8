import { type AblatableRule, ablatableRules } from '../../services/chassis/ablation.ts';
import type { Sabotage } from './world/world.ts';

/** What the simulation has to know of a rule that is taken away, besides its name. */
export type RuleAway = Readonly<{
  /**
   * The rule is one of reading: everybody reads without it, the checkers too. What they then find is harm, not only a
   * difference between readers.
   */
  everyReader?: true;
  /** What the rule is there for, where no fault of a schedule brings it about. */
  sabotage?: Sabotage;
}>;

/** Rules that only a real broker can break. */
export const realBrokerOnly: ReadonlySet<AblatableRule> = new Set(['15a']);

export const simulatedRules = (Object.keys(ablatableRules) as AblatableRule[]).filter(
  (rule) => !realBrokerOnly.has(rule),
);

const everyReader = { everyReader: true } as const;

/** A decision that breaks where a goal says something that nobody expected. */
const throwingPlanner: Sabotage = {
  isReal: true,
  logic: (logic) =>
    logic.name === 'planner'
      ? {
          ...logic,
          decide: () => {
            throw new Error('broken');
          },
        }
      : logic,
};

const special: Partial<Record<AblatableRule, RuleAway>> = {
  '1c': everyReader,
  '2c': everyReader,
  '5a': everyReader,
  '7a': everyReader,
  '8a': everyReader,
  '8c': everyReader,
  '8d': everyReader,
  '9f': everyReader,
  '10a': everyReader,
  '10b': everyReader,
  '14b': { ...everyReader, sabotage: throwingPlanner },
};

export const ruleAway = (rule: AblatableRule): RuleAway => special[rule] ?? {};
