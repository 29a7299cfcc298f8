/** What a person sees while a goal is followed, and how the command ends. */
import { type Call, flagOption, writeJson } from './context.ts';
import { type ExitCode, exitCodes } from './exit-code.ts';
import { type LinePrinter, printLine, textRoom } from './live-print.ts';
import { outputText, statusLine } from './result-print.ts';
import type { Followed, FollowOptions } from './submit.ts';

const silent = 'Nothing is heard of the goal yet. Do the services run? See: longrein status\n';

/** Lines of one call. With --json standard output is for the document alone. */
export function linePrinterOf(call: Call): LinePrinter {
  const { terminal } = call;
  const write = call.json ? terminal.err : terminal.out;
  const colors = call.json ? terminal.errColors : terminal.colors;
  return { write, colors, columns: terminal.columns, startedMs: Date.now() };
}

/** The flag of commands that follow a goal. */
export const tokensOption = {
  flags: '--tokens',
  about: 'show what models say, while they say it',
};

export const liveOptions = (call: Call, printer: LinePrinter): FollowOptions => ({
  onLine: (line) => printLine(printer, line),
  onSilence: () => call.terminal.err(silent),
  ...(flagOption(call, 'tokens') ? { tokensWidth: textRoom(printer) } : {}),
});

/** Says on Ctrl-C that the goal goes on, and how to see it; `work` is what Ctrl-C interrupts. */
export async function untilInterrupted<T>(
  call: Call,
  advice: () => string,
  work: () => Promise<T>,
): Promise<T> {
  const onInterrupt = (): void => {
    call.terminal.err(`\nThe goal goes on. ${advice()}\n`);
    process.exit(exitCodes.interrupted);
  };
  process.once('SIGINT', onInterrupt);
  try {
    return await work();
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

/** Shows the result; 1 unless it completed. */
export function finishFollowed(call: Call, followed: Followed): ExitCode {
  const { result, elapsedMs, events, repeated } = followed;
  if (call.json) {
    const { goalId, session } = result;
    writeJson(call, { goalId, session, elapsedMs, events, repeated, result });
  } else {
    call.terminal.out(`\n${statusLine(call.terminal, followed)}`);
    const text = outputText(call.terminal, result.output);
    if (text !== '') call.terminal.out(`\n${text}`);
  }
  return result.status === 'completed' ? exitCodes.done : exitCodes.failed;
}
