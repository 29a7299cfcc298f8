import type { Checker } from './violation.ts';

const rule = 'a schedule is no toy: five goals, three hosts, a crash and a zombie at least';

const least: readonly Readonly<{ what: RegExp; count: number }>[] = [
  { what: /^host started$/, count: 3 },
  { what: /^fault crash/, count: 1 },
  { what: /^fault zombie/, count: 1 },
];

/** What happened, not what was planned: a fault that found no victim does not count. */
export const noToy: Checker = ({ published, coverage }) => {
  const found = published.length >= 5 ? [] : [{ rule, detail: `${published.length} goals` }];
  for (const { what, count } of least) {
    const names = [...coverage.keys()].filter((name) => what.test(name));
    const happened = names.reduce((sum, name) => sum + (coverage.get(name) ?? 0), 0);
    if (happened < count) found.push({ rule, detail: `${happened} of ${what.source}` });
  }
  return found;
};
