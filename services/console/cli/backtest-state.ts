import { appendFile, readFile, writeFile } from 'node:fs/promises';
import type { Verdict } from '../../../replay-tools/backtest/backtest.ts';
import type { Setting } from '../../../replay-tools/fork/candidate.ts';
import { release } from '../../chassis/config/package-root.ts';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { hashOf } from '../../chassis/protocol/hash.ts';

/**
 * What a backtest has found so far, in a file that it can be stopped and run again with. It belongs to one candidate, by
 * what is in its files and not by their names, and to one release: another one may decide otherwise.
 */
export type BacktestState = Readonly<{
  known: ReadonlyMap<string, Verdict>;
  /** Keeps what was found of one more session. */
  keep(name: string, verdict: Verdict): Promise<void>;
}>;

export const noState: BacktestState = { known: new Map(), keep: async () => undefined };

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if ((toError(thrown) as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw thrown;
  }
}

function unreadable(path: string, line: number, cause: unknown): LongreinError {
  const message = `line ${line} of ${path} is not what a backtest keeps`;
  const fix = 'name another file, or delete it to begin again';
  return new LongreinError('STATE_UNREADABLE', message, { fix, cause });
}

type Line = Readonly<{ candidate?: string; name?: string; verdict?: Verdict }>;

function parsed(path: string, text: string, index: number): Line {
  try {
    return JSON.parse(text) as Line;
  } catch (thrown) {
    throw unreadable(path, index + 1, thrown);
  }
}

function verdictsIn(path: string, lines: readonly Line[]): ReadonlyMap<string, Verdict> {
  const known = new Map<string, Verdict>();
  for (const [index, { name, verdict }] of lines.entries()) {
    // The first line of the file names the candidate.
    if (name === undefined || verdict === undefined)
      throw unreadable(path, index + 2, new Error('it names no session'));
    known.set(name, verdict);
  }
  return known;
}

/**
 * Opens the state, or begins one. A line that a kill cut in the middle is taken away: its session is run again. Throws
 * LongreinError STATE_OTHER for one of another candidate or release, and STATE_UNREADABLE.
 */
export async function openState(
  path: string,
  settings: readonly Setting[],
): Promise<BacktestState> {
  const candidate = hashOf({ release, settings });
  const text = await textOf(path);
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const [head, ...lines] = whole
    .split('\n')
    .slice(0, -1)
    .map((line, index) => parsed(path, line, index));
  if (head !== undefined && head.candidate !== candidate)
    throw new LongreinError('STATE_OTHER', `${path} is the state of another candidate or release`, {
      fix: 'name another file, or delete it to begin again',
    });
  const begun = `${JSON.stringify({ candidate })}\n`;
  if (head === undefined || whole !== text)
    await writeFile(path, head === undefined ? begun : whole);
  return {
    known: verdictsIn(path, lines),
    keep: (name, verdict) => appendFile(path, `${JSON.stringify({ name, verdict })}\n`),
  };
}
