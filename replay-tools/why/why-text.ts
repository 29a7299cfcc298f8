import { plainPalette } from '../show/palette.ts';
import { type RowOptions, rowLines, rowOf } from '../show/rows.ts';
import type { Link, Why } from './why.ts';

/** A chain of causes as lines, the goal first. */

/** Runs of links of one log. */
function byLog(links: readonly Link[]): readonly (readonly Link[])[] {
  const runs: Link[][] = [];
  for (const link of links) {
    const run = runs.at(-1);
    if (run?.[0]?.session === link.session) run.push(link);
    else runs.push([link]);
  }
  return runs;
}

const places = (link: Link): string =>
  link.others.map(({ place, event }) => `${place} ${event.type}`).join(', ');

function runLines(run: readonly Link[], options: RowOptions, isLast: boolean): string[] {
  const { palette = plainPalette } = options;
  const openedAtMs = run[0]?.happening.event.atMs ?? 0;
  const rows = run.map(({ happening }, index) => {
    const row = rowOf(happening, openedAtMs);
    return isLast && index === run.length - 1 ? { ...row, mark: '>' as const } : row;
  });
  const lines = rowLines(rows, openedAtMs, options);
  return run.flatMap((link, index) => {
    const besides = link.others.length === 0 ? [] : [`      besides: ${places(link)}`];
    return [...(lines[index] ?? []), ...besides.map(palette.quiet)];
  });
}

export function whyLines({ links, beyond }: Why, options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette } = options;
  const runs = byLog(links);
  const before =
    beyond === undefined
      ? []
      : [palette.quiet(`What came before is in ${beyond.session}, which is not to be had here.`)];
  return [
    ...before,
    ...runs.flatMap((run, index) => [
      ...(index === 0 && before.length === 0 ? [] : ['']),
      palette.heading(run[0]?.session ?? ''),
      ...runLines(run, options, index === runs.length - 1),
    ]),
  ];
}
