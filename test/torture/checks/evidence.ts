import { type JudgedSession, judgeSession } from '../../../replay-tools/read/session.ts';
import type { GoalStorm } from '../goal-storm.ts';
import { LogImage } from '../log-image.ts';
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

type Place = Readonly<{ brokers: readonly string[]; blobDir: string; dir: string }>;

/** Reads the whole log and judges every session in it. */
export async function gatherEvidence(
  { brokers, blobDir, dir }: Place,
  { goals, results }: Pick<Evidence, 'goals' | 'results'>,
): Promise<Evidence> {
  const image = await LogImage.read(brokers, blobDir);
  const sessions: JudgedSession[] = [];
  for (const source of image.sources()) sessions.push(await judgeSession(source));
  return { image, sessions, goals, results, dir };
}
