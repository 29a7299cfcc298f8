/** What the exit status of a command says. */
import { LongreinError } from '../../chassis/errors.ts';

export const exitCodes = { done: 0, failed: 1, usage: 2, differs: 3, interrupted: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The command was called wrongly: nothing was done. */
export class UsageError extends LongreinError {
  constructor(message: string, fix: string) {
    super('USAGE', message, { fix });
    this.name = 'UsageError';
  }
}
