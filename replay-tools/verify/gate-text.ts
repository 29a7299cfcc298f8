import { count } from '../show/figures.ts';
import { type Palette, plainPalette } from '../show/palette.ts';
import type { Gate } from './gate.ts';
import { differenceLines } from './report-text.ts';

/** A gate for people. */
export function gateLines(gate: Gate, palette: Palette = plainPalette): readonly string[] {
  const { sessions, identical, differing, byHash, unreadable, events, decisions } = gate;
  const verdict = differing > 0 ? palette.error : palette.heading;
  return [
    verdict(
      `${count(sessions, 'session')}: ${identical} identical, ${differing} differing, ${unreadable} unreadable`,
    ),
    `${events} events, ${count(decisions, 'decision')} computed again; ${byHash} of the identical sessions in part by hash only`,
    ...gate.differences.flatMap(({ origin, first }) => [
      '',
      palette.heading(origin),
      ...differenceLines(first, palette),
    ]),
    ...gate.problems.map(({ session, message }) => palette.error(`! ${session}: ${message}`)),
  ];
}
