import type { Run } from '../world/run-outcome.ts';

/** What a checker found: which rule, where, and what to look at. */
export type Violation = Readonly<{ rule: string; detail: string }>;

export type Checker = (run: Run) => readonly Violation[];
