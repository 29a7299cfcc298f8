/** One core of `longrein replay verify --all`: takes sessions one by one, and answers what came of each. */
import { parentPort } from 'node:worker_threads';
import type { Verified } from '../../../replay-tools/verify/gate.ts';
import { LongreinError, toError } from '../../chassis/errors.ts';
import type { Wanted } from './session-source.ts';
import { verifyOne } from './verify-one.ts';

/** The place of the session in the list goes with it. */
export type VerifyTask = Readonly<{ index: number; wanted: Wanted }>;

export type VerifyAnswer = Readonly<{ index: number }> &
  (
    | Readonly<{ verified: Verified }>
    | Readonly<{ failed: Readonly<{ code: string; message: string; fix?: string }> }>
  );

function failureOf(thrown: unknown) {
  const error = toError(thrown);
  const { message } = error;
  if (!(error instanceof LongreinError)) return { code: 'VERIFY_FAILED', message };
  const { code, fix } = error;
  return { code, message, ...(fix === undefined ? {} : { fix }) };
}

async function answerTo({ index, wanted }: VerifyTask): Promise<VerifyAnswer> {
  try {
    return { index, verified: await verifyOne(wanted) };
  } catch (thrown) {
    return { index, failed: failureOf(thrown) };
  }
}

parentPort?.on('message', (task: VerifyTask) => {
  void answerTo(task).then((answer) => parentPort?.postMessage(answer));
});
