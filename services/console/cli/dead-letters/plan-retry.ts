/** Finds out what a retry of a letter would do, with the log of its session or the record of its goal where that is needed. */
import { LongreinError } from '../../../chassis/errors.ts';
import type { RecordBody } from '../../../chassis/protocol/record.ts';
import type { Context } from '../context.ts';
import { withLog } from '../log-client.ts';
import { withSession } from '../session-source.ts';
import type { Letter } from './letter.ts';
import { withOriginal } from './original.ts';
import { needsSession, type Retry, retryOf, retryOfSession } from './retry.ts';

export async function planRetry(context: Context, letter: Letter): Promise<Retry> {
  const { environment, workingDir } = context;
  if (!needsSession(letter))
    return retryOf(await withLog(environment, (log) => withOriginal(log, letter)));
  const wanted = { environment, workingDir, id: letter.session ?? '', source: 'kafka' } as const;
  try {
    const bodies: RecordBody[] = [];
    await withSession(wanted, async (source) => {
      for await (const { body } of source.records()) if (body !== undefined) bodies.push(body);
    });
    return retryOfSession(letter, bodies);
  } catch (thrown) {
    if (!(thrown instanceof LongreinError) || thrown.code !== 'SESSION_UNKNOWN') throw thrown;
    const because = 'the log of its session is not there any more';
    return { as: 'none', because, fix: 'Ask for it again: longrein goal submit' };
  }
}
