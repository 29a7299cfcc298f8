import { serviceNames } from '../../services/main.ts';
import type { Violation } from './checks/evidence.ts';
import { type Disturbance, disturbances, minimumOf } from './disturbance.ts';

/** What a run counted. */
export type TortureFigures = Readonly<{
  seed: number;
  minutes: number;
  goals: number;
  statuses: Readonly<Record<string, number>>;
  repeatedGoals: number;
  cancelledGoals: number;
  sessions: number;
  records: number;
  events: number;
  effects: number;
  disturbances: ReadonlyMap<Disturbance, number>;
  killedServices: ReadonlyMap<string, number>;
  /** Last words of hosts that ended by themselves and were started again. */
  ownEnds: readonly string[];
  violations: readonly Violation[];
}>;

const line = (count: number, what: string): string => `${String(count).padStart(8)}  ${what}`;

const shownMax = 30;
const rule = 'a run disturbs often enough';

/** The figures as a table for people. */
export function tableOf(figures: TortureFigures): string {
  const statuses = Object.entries(figures.statuses).map(([name, count]) => `${count} ${name}`);
  const services = [...figures.killedServices].map(([name, count]) => `${name} ${count}`);
  const shown = figures.violations.slice(0, shownMax);
  return [
    line(figures.goals, `goals (${statuses.join(', ')})`),
    line(figures.repeatedGoals, 'goals handed in again'),
    line(figures.cancelledGoals, 'goals cancelled'),
    line(figures.sessions, 'sessions, goal logs, key logs and sinks decided again'),
    line(figures.records, 'records'),
    line(figures.events, 'events'),
    line(figures.effects, 'side effects'),
    ...disturbances.map((kind) => {
      const least = minimumOf(kind, figures.minutes);
      return line(figures.disturbances.get(kind) ?? 0, `${kind} (at least ${least})`);
    }),
    `services in killed hosts: ${services.join(', ')}`,
    `hosts that ended by themselves: ${figures.ownEnds.length}`,
    ...figures.ownEnds.map((one) => `          ${one}`),
    line(figures.violations.length, 'violations'),
    ...shown.map(({ rule, detail }) => `  ${rule}:\n    ${detail}`),
  ].join('\n');
}

/** What a run did too seldom to prove anything: of each kind, and to each service. */
export function shortfalls({
  done,
  killed,
  minutes,
}: Readonly<{
  done: ReadonlyMap<Disturbance, number>;
  killed: ReadonlyMap<string, number>;
  minutes: number;
}>): readonly Violation[] {
  const spared = serviceNames.filter((name) => !killed.has(name));
  const tooFew = disturbances
    .filter((kind) => (done.get(kind) ?? 0) < minimumOf(kind, minutes))
    .map((kind) => {
      const detail = `${kind}: ${done.get(kind) ?? 0} of ${minimumOf(kind, minutes)}`;
      return { rule, detail };
    });
  return [
    ...tooFew,
    ...spared.map((name) => ({ rule, detail: `${name}: no host of it was killed` })),
  ];
}
