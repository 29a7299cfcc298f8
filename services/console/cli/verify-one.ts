/** Verifies one session from wherever it is to be read. */
import type { Verified } from '../../../replay-tools/verify/gate.ts';
import { LongreinError } from '../../chassis/errors.ts';
import type { Wanted } from './session-source.ts';

/**
 * What came of it; one session that cannot be read must not end a run of many. Throws what may pass when it is tried
 * again: a broker or a database that is away.
 */
export async function verifyOne(wanted: Wanted): Promise<Verified> {
  const { withSession } = await import('./session-source.ts');
  const { verifySession } = await import('../../../replay-tools/verify/verify.ts');
  try {
    return await withSession(wanted, (source) => verifySession(source));
  } catch (thrown) {
    if (!(thrown instanceof LongreinError) || thrown.retryable) throw thrown;
    const session = wanted.id === '' ? (wanted.file ?? '') : wanted.id;
    return { session, problem: thrown.message };
  }
}
