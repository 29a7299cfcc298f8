/** How a command that failed says so: what, where, what to do; and with which exit code. */
import { LongreinError, toError } from '../../chassis/errors.ts';
import type { Context } from './context.ts';
import { type ExitCode, exitCodes, UsageError } from './exit-code.ts';

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

const unexpectedFix =
  'This is not expected: run it again with LONGREIN_DEBUG=1 and report what it prints.';

/** A thrown thing as code, message and advice. */
export function failureOf(thrown: unknown): Failure {
  const error = toError(thrown);
  if (!(error instanceof LongreinError)) {
    return { code: 'UNEXPECTED', message: error.message, fix: unexpectedFix };
  }
  const { code, message } = error;
  return { code, message, fix: error.fix ?? 'Run `longrein doctor`; it looks at everything.' };
}

/** Prints it, in JSON on standard output if the call asked for JSON, and gives the exit code. */
export function printFailure(context: Context, thrown: unknown, json: boolean): ExitCode {
  const failure = failureOf(thrown);
  const { terminal } = context;
  if (json) {
    terminal.out(`${JSON.stringify({ error: failure })}\n`);
  } else {
    const { red, bold, dim } = terminal.errColors;
    const { code, message, fix } = failure;
    const indented = message.replaceAll('\n', '\n       ');
    terminal.err(`${red(bold('error'))}  ${indented} ${dim(`[${code}]`)}\n`);
    terminal.err(`${bold('fix')}    ${fix.replaceAll('\n', '\n       ')}\n`);
  }
  if (context.environment['LONGREIN_DEBUG']) terminal.err(`${toError(thrown).stack ?? ''}\n`);
  return thrown instanceof UsageError ? exitCodes.usage : exitCodes.failed;
}
