/** Who does what, and why: every act on the log is recorded with both. */
import type { Deed } from '../../chassis/host/watermark-records.ts';
import { type Call, type OptionSpec, textOption } from './context.ts';
import { UsageError } from './exit-code.ts';

export const deedOptions: readonly OptionSpec[] = [
  { flags: '--reason <text>', about: 'why; it is recorded' },
  { flags: '--by <name>', about: 'who; the name of the user if not given' },
];

/** Throws a UsageError without a reason. */
export function deedOf(call: Call, nowMs: number): Deed {
  const reason = textOption(call, 'reason')?.trim() ?? '';
  if (reason === '')
    throw new UsageError(
      'a reason is needed',
      'Add: --reason "why this is right". It is recorded.',
    );
  const by = textOption(call, 'by') ?? call.environment['USER'] ?? 'unknown';
  return { by, reason, atMs: nowMs };
}
