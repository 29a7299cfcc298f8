import type { JudgedSession } from '../../../replay-tools/read/session.ts';
import type { GoalStorm } from '../goal-storm.ts';
import type { LogImage } from '../log-image.ts';
import type { ResultTail } from '../result-tail.ts';

/** What is looked at when a run is over. */
export type Evidence = Readonly<{
  image: LogImage;
  sessions: readonly JudgedSession[];
  goals: GoalStorm['goals'];
  results: ResultTail['byGoal'];
  /** The directory of the run. */
  dir: string;
}>;

export type { Violation } from '../../simulation/checkers/violation.ts';
