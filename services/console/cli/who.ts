/** Who changes something, and why: said with every change of an installation. */
import { userInfo } from 'node:os';
import type { Call, OptionSpec } from './context.ts';
import { textOption } from './context.ts';
import { UsageError } from './exit-code.ts';

export const reasonOptions: readonly OptionSpec[] = [
  { flags: '--reason <text>', about: 'why; kept with the change' },
  { flags: '--as <name>', about: 'who, if not the user of this machine' },
];

export interface Author {
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
}

/** Throws UsageError without a reason. */
export function authorOf(call: Call): Author {
  const reason = textOption(call, 'reason')?.trim() ?? '';
  if (reason === '') throw new UsageError('there is no reason', 'Say why: --reason "…"');
  const by = textOption(call, 'as')?.trim() || userInfo().username;
  return { by: by.slice(0, 200), reason: reason.slice(0, 1_000), atMs: Date.now() };
}
