import { LongreinError } from './errors.ts';

/**
 * Rules of DESIGN 3 that are taken away on purpose, to show that tests notice. Named by number and letter; empty in
 * every process that does work for people, and then it costs one look at an empty set.
 *
 * A1 Only chassis code asks; only tests and the start of a host set it.
 */

/** What is missing when a rule is taken away. */
export const ablatableRules = {
  '1a': 'a host acts as soon as it has asked for a partition, before it has read its own epoch',
  '1b': 'nobody asks again for a partition whose owner is gone',
  '1c': 'acceptance ignores epochs: what a superseded owner writes counts',
  '1d': 'an owner that lives but no longer reads the partition counts as there',
  '2a': 'a request that was not acknowledged is sent again with new numbers',
  '2b': 'more than one request to a partition is on the way',
  '2c': 'acceptance ignores sequence numbers: what is written twice counts twice',
  '2d': 'after a refusal the old epoch goes on, with numbers that were never written',
  '3a': 'own turns are folded when they are written, not at their place in the log',
  '4a': 'a turn does not record the facts that were used',
  '4b': 'a turn names a base before the one it was decided at',
  '5a': 'a turn whose foreseen turn is void counts all the same',
  '6a': 'a session has more than one batch on the way',
  '7a': 'a turn answers none of its causes',
  '7b': 'what was due when a host took over is not looked at',
  '8a': 'an input counts each time it comes',
  '8b': 'closed sessions are not remembered',
  '8c': 'a cancel that comes before the opening is forgotten',
  '8d': 'a session closes with calls open',
  '9a': 'an effect starts when its claim is written',
  '9b': 'claims that were there before the assignment start effects',
  '9c': 'an effect starts whatever the state says by then, and after its deadline',
  '9d': 'running effects are forgotten with the partition',
  '9e': 'a call is lost as soon as another process is the owner',
  '9f': 'an outcome counts each time it comes',
  '10a': 'timers fire at once, and early ones count',
  '10b': 'a timer fires although its setting was superseded',
  '10c': 'timers that were set before a restart are forgotten',
  '10d': 'a turn takes its time from the clock alone',
  '11a': 'checkpoints are taken while something is open or on the way',
  '11b': 'watermarks stand at the position of the reader',
  '11c': 'watermarks come without the acceptance state of their place',
  '11d': 'what lies between the cursor of a checkpoint and the checkpoint is not folded',
  '12a': 'deliveries are sent by who reads, not by who owns',
  '12b': 'a delivery counts as acknowledged when it is sent',
  '12c': 'deliveries that were open at a restart are not sent again',
  '12d': 'deliveries of a session to one place do not wait for each other',
  '13a': 'a gap in the log is read over',
  '14a': 'a request without an answer is given up as if it were refused',
  '14b': 'a decision that throws is swallowed',
  '14c': 'nobody looks for what a predecessor died of',
  '15a': 'a partition that is missing in the answer of a broker counts as acknowledged',
} as const;

export type AblatableRule = keyof typeof ablatableRules;

const known: readonly string[] = Object.keys(ablatableRules);

let taken: ReadonlySet<string> = new Set();

/** Whether this rule is taken away. */
export const ablated = (rule: AblatableRule): boolean => taken.size > 0 && taken.has(rule);

/**
 * The rules that these names mean: `9a` is one, `9` is all of rule 9. Throws LongreinError ABLATION_UNKNOWN for a name
 * that means none.
 */
export function rulesNamed(names: readonly string[]): readonly AblatableRule[] {
  return names.flatMap((name) => {
    const meant = known.filter((rule) => rule === name || rule.replace(/[a-z]$/, '') === name);
    if (meant.length > 0) return meant as AblatableRule[];
    throw new LongreinError('ABLATION_UNKNOWN', `no rule "${name}" can be taken away`, {
      fix: `name one of ${known.join(', ')}, or a number for all of it`,
    });
  });
}

/** Takes these rules away, and gives back all others. */
export function takeAway(rules: readonly AblatableRule[]): void {
  taken = new Set(rules);
}
