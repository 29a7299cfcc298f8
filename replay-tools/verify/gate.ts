import type { Difference, VerifyReport } from './report.ts';

/** Many verified sessions in one: what a release has to show before it goes out. */

export type Gate = Readonly<{
  sessions: number;
  identical: number;
  differing: number;
  /** Of those that are identical: some of it, or all, could only be checked by hash. */
  byHash: number;
  unreadable: number;
  events: number;
  decisions: number;
  /** Sessions that differ, with their first difference. */
  differences: readonly Readonly<{ session: string; origin: string; first: Difference }>[];
  problems: readonly Readonly<{ session: string; message: string }>[];
}>;

/** A session that was verified, or why it could not be read. */
export type Verified = VerifyReport | Readonly<{ session: string; problem: string }>;

const shownMax = 20;

const isReport = (one: Verified): one is VerifyReport => 'identical' in one;

export function gateOf(verified: readonly Verified[]): Gate {
  const reports = verified.filter(isReport);
  const differing = reports.filter(({ identical }) => !identical);
  const sum = (name: 'events' | 'decisions'): number =>
    reports.reduce((total, { counts }) => total + counts[name], 0);
  const problems = verified.flatMap((one) =>
    isReport(one) ? [] : [{ session: one.session, message: one.problem }],
  );
  return {
    sessions: verified.length,
    identical: reports.length - differing.length,
    differing: differing.length,
    byHash: reports.filter(({ identical, complete }) => identical && !complete).length,
    unreadable: problems.length,
    ...{ events: sum('events'), decisions: sum('decisions') },
    differences: differing.slice(0, shownMax).flatMap(({ session, origin, differences }) => {
      const [first] = differences;
      return first === undefined ? [] : [{ session, origin, first }];
    }),
    problems: problems.slice(0, shownMax),
  };
}
