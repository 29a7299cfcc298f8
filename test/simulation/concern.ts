import type { Violation } from './checkers/violation.ts';
import type { Line } from './world/history.ts';
import type { Run } from './world/run-outcome.ts';

/** What violations are about: the sessions that they name, by whatever name. */
export type Concern = Readonly<{
  sessions: ReadonlySet<string>;
  goals: ReadonlySet<string>;
  /** Whether a record belongs to the story: of such a session, or an epoch of its partition. */
  covers(line: Line): boolean;
}>;

const sessionNames = /\b(?:goal_)?ses_[0-9a-f]{32}|\bkey_[0-9a-f]{32}/g;
const placeNames = /(longrein\.[a-z0-9.-]+)\/(\d+)@(\d+)/g;
const goalNames = /\bgoal-\d+\b/g;
const otherNames = /\b(?:call|inp|trn|ckp)_[0-9a-f]{32}/g;

const placeOf = ({ topic, partition }: Line): string => `${topic}/${partition}`;

function sessionOfName(run: Run, name: string): string[] {
  const known = run.witness.effects.find(({ call }) => call === name)?.session;
  if (known !== undefined) return [known];
  const line = run.history.lines.find(
    ({ header, step }) =>
      header.id === name || step.events.some(({ data }) => 'call' in data && data.call === name),
  );
  return line === undefined ? [] : [line.header.session];
}

function sessionsOfGoal(run: Run, goal: string): string[] {
  return run.history.lines.flatMap(({ step, header }) =>
    step.events.some(({ data }) => 'goalId' in data && data.goalId === goal)
      ? [header.session, header.session.replace(/^goal_/, '')]
      : [],
  );
}

const matches = (text: string, names: RegExp): string[] =>
  [...text.matchAll(names)].map(([name]) => name);

function sessionsIn(run: Run, detail: string): string[] {
  const named = matches(detail, sessionNames);
  const placed = [...detail.matchAll(placeNames)].flatMap(([, topic, partition, offset]) =>
    run.history.lines
      .filter((line) => placeOf(line) === `${topic}/${partition}` && line.offset === Number(offset))
      .map(({ header }) => header.session),
  );
  if (named.length + placed.length > 0) return [...named, ...placed];
  const others = matches(detail, otherNames).flatMap((name) => sessionOfName(run, name));
  return [...others, ...matches(detail, goalNames).flatMap((goal) => sessionsOfGoal(run, goal))];
}

/** Names of goals, as their publisher knows them, whose sessions these are. */
function goalsOf(run: Run, sessions: ReadonlySet<string>): Set<string> {
  const goals = new Set<string>();
  for (const { step, header } of run.history.lines) {
    const own = sessions.has(header.session) || sessions.has(header.session.replace('goal_', ''));
    for (const { data } of step.events) if (own && 'goalId' in data) goals.add(String(data.goalId));
  }
  return goals;
}

export function concernOf(run: Run, violations: readonly Violation[]): Concern {
  const found = violations.flatMap(({ detail }) => sessionsIn(run, detail));
  const sessions = new Set(found.filter((session) => session !== ''));
  const places = new Set(
    run.history.lines.filter(({ header }) => sessions.has(header.session)).map(placeOf),
  );
  const covers = (line: Line): boolean => {
    if (sessions.size === 0) return true;
    if (line.header.kind === 'epoch') return places.has(placeOf(line));
    return sessions.has(line.header.session);
  };
  return { sessions, goals: goalsOf(run, sessions), covers };
}
