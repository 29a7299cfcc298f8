import { count } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import { wrapTo } from '../show/wrap.ts';
import type { Fork } from './fork.ts';
import type { Played } from './play-on.ts';
import type { Followed, Parting } from './rehearsal.ts';

/** A fork for people: how far the record holds, where the paths part, and how far it could be played on. */

const listed = (types: readonly string[]): string =>
  types.length === 0 ? 'nothing' : types.join(', ');

/** Where the paths part, and how. */
export function partingLines(parts: Parting, options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette, columns = 160 } = options;
  const head =
    parts.because === 'mock'
      ? `The paths part at ${parts.place}: a mock answers in the place of ${listed(parts.recorded)}.`
      : `The paths part at ${parts.place}: ${parts.service} decides ${listed(parts.decided)} instead of ${listed(parts.recorded)}.`;
  const changes = parts.changes.flatMap(({ pointer, expected, actual }) => [
    `  ${pointer || '/'}`,
    ...wrapTo(`    recorded ${expected ?? '(nothing)'}`, columns, 13),
    ...wrapTo(`    now      ${actual ?? '(nothing)'}`, columns, 13),
  ]);
  return [...wrapTo(head, columns, 2).map(palette.heading), ...changes];
}

function followedText({ same, taken }: Followed): string {
  const rest = taken === 0 ? '' : `, ${taken} of another release taken as they are`;
  return `${count(same, 'decision')} made again and the same${rest}`;
}

const endings: Readonly<Record<Played['ended'], string>> = {
  closed: 'It was played on to its end.',
  unanswered: 'It was played on as far as answers are known; the rest is not guessed.',
  quiet: 'It was played on until nothing was left to do.',
  limit: 'It was stopped: it went on for too long.',
};

function playedLines(
  { ended, unanswered, answers }: Played,
  { columns = 160 }: RowOptions,
): string[] {
  const from = `${answers.record} answers of the record, ${answers.mock} of mocks`;
  const calls = unanswered.flatMap(({ kind, name, agent, given }) => {
    const asked = JSON.stringify(kind === 'tool' ? given : '(its window)');
    return wrapTo(`  ${kind} ${name} for ${agent} with ${asked}`, columns, 4).slice(0, 3);
  });
  const head =
    unanswered.length === 0 ? [] : ['Nobody answers (give a mock, see --tools mock FILE):'];
  return [`${endings[ended]} ${from}.`, ...head, ...calls];
}

export function forkLines(fork: Fork, options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette } = options;
  const { session, of, at, changes, followed, played } = fork;
  const changed = changes.length === 0 ? 'with no change' : `with ${changes.join('; ')}`;
  const parts = followed.parts;
  return [
    palette.heading(`Fork ${session} of ${of} at ${at}, ${changed}`),
    `${followedText(followed)}.`,
    ...(parts === undefined
      ? ['The paths do not part: it goes as it went.']
      : partingLines(parts, options)),
    ...(played === undefined ? [] : playedLines(played, options)),
  ];
}

/** As one JSON document. */
export function forkDocument({ source: _records, played, ...fork }: Fork) {
  if (played === undefined) return fork;
  const unanswered = played.unanswered.map(({ kind, name, agent, given }) =>
    kind === 'tool' ? { kind, name, agent, given } : { kind, name, agent },
  );
  return { ...fork, played: { ...played, unanswered } };
}
