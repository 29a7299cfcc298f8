/** Who changes something, and why: said with every change of an installation. */
import { userInfo } from 'node:os';
import type { Deed } from '../../chassis/host/watermark-records.ts';
import type { Call, OptionSpec } from './context.ts';
import { textOption } from './context.ts';
import { UsageError } from './exit-code.ts';

export const reasonOptions: readonly OptionSpec[] = [
  { flags: '--reason <text>', about: 'why; kept with the change' },
  { flags: '--as <name>', about: 'who, if not the user of this machine' },
];

/** Who does what the call asks for, and why. Throws UsageError without a reason. */
export function deedOf(call: Call): Deed {
  const reason = textOption(call, 'reason')?.trim() ?? '';
  if (reason === '') throw new UsageError('there is no reason', 'Say why: --reason "…"');
  const by = textOption(call, 'as')?.trim() || userInfo().username;
  return { by: by.slice(0, 200), reason: reason.slice(0, 1_000), atMs: Date.now() };
}
