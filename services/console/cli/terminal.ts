/**
 * Where a command writes: answers to standard output, progress and errors to standard error. Colour
 * and moving lines only where the stream is a terminal and NO_COLOR is not set.
 */

import pico from 'picocolors';

const { createColors } = pico;

export type Colors = ReturnType<typeof createColors>;

export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  readonly outIsTty: boolean;
  readonly errIsTty: boolean;
  /** Width of standard output in characters. */
  readonly columns: number;
  readonly colors: Colors;
  readonly errColors: Colors;
}

const columnsOfPipe = 200;
const columnsOfUnknown = 80;

/** Whether this stream may be coloured, by https://no-color.org. */
function mayColour(isTty: boolean, environment: Environment): boolean {
  const { NO_COLOR, TERM } = environment;
  return isTty && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb';
}

function endQuietly(error: NodeJS.ErrnoException): void {
  // The reader of a pipe (`head`) had enough: that is no failure of ours.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
}

/** The streams of this process. */
export function processTerminal(environment: Environment): Terminal {
  const { stdout, stderr } = process;
  stdout.on('error', endQuietly);
  const outIsTty = stdout.isTTY === true;
  // A terminal that does not know its width cannot move lines.
  const errIsTty = stderr.isTTY === true && (stderr.columns ?? 0) > 0;
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    outIsTty,
    errIsTty,
    columns: outIsTty ? stdout.columns || columnsOfUnknown : columnsOfPipe,
    colors: createColors(mayColour(outIsTty, environment)),
    errColors: createColors(mayColour(errIsTty, environment)),
  };
}

export type Environment = Readonly<Record<string, string | undefined>>;
