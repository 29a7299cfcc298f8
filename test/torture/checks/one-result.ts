import type { ResultRecord } from '../result-tail.ts';
import type { Evidence, Violation } from './evidence.ts';

const rule = 'every goal has exactly one result; a repeat has the same id and bytes';

function differs([first, ...repeats]: readonly ResultRecord[]): boolean {
  return repeats.some(({ id, bytes }) => id !== first?.id || !bytes.equals(first.bytes));
}

export function oneResult({ goals, results }: Evidence): readonly Violation[] {
  const missing = [...goals.keys()].filter((goal) => !results.has(goal));
  const strange = [...results.keys()].filter((goal) => !goals.has(goal));
  const twofold = [...results].filter(([, records]) => differs(records)).map(([goal]) => goal);
  return [
    ...missing.map((goal) => ({ rule, detail: `${goal} has no result` })),
    ...strange.map((goal) => ({ rule, detail: `a result for ${goal}, which nobody asked for` })),
    ...twofold.map((goal) => ({ rule, detail: `${goal} has results that differ` })),
  ];
}
