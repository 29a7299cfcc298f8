import { z } from 'zod';
import { LongreinError } from '../chassis/errors.ts';
import type { SandboxAllowance } from './sandbox-tool.ts';

const mebibyte = 1_048_576;
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

const schema = z.object({
  LONGREIN_SANDBOX_WORKERS: whole(1, 64).default(2),
  LONGREIN_SANDBOX_TIME_MS: whole(10, 600_000).default(10_000),
  LONGREIN_SANDBOX_MEMORY_BYTES: whole(mebibyte, 2_048 * mebibyte).default(128 * mebibyte),
});

export type SandboxConfig = Readonly<{ allowance: SandboxAllowance; workersMax: number }>;

/** Limits of the embedded sandbox. Throws LongreinError CONFIG_INVALID. */
export function readSandboxConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): SandboxConfig {
  const parsed = schema.safeParse(environment);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      (issue) => `${issue.path.join('.')}: ${issue.message}`,
    );
    throw new LongreinError('CONFIG_INVALID', problems.join('; '), {
      fix: 'correct or unset the variable',
    });
  }
  const { data } = parsed;
  const timeMs = data.LONGREIN_SANDBOX_TIME_MS;
  const memoryBytes = data.LONGREIN_SANDBOX_MEMORY_BYTES;
  const allowance = { timeMs, timeMsMax: timeMs * 6, memoryBytes, memoryBytesMax: memoryBytes * 4 };
  return { allowance, workersMax: data.LONGREIN_SANDBOX_WORKERS };
}
