import type { Line } from '../world/history.ts';
import type { Run } from '../world/run-outcome.ts';
import type { EffectSeen } from '../world/witness.ts';
import type { Checker } from './violation.ts';

const rule =
  'no effect starts that its state forbids at the place of its claim, or after its deadline';

type Claim = Readonly<{ line: Line; deadlineAtMs: number }>;

function claimsOf({ history }: Run): Map<string, Claim> {
  const claims = new Map<string, Claim>();
  for (const line of history.lines) {
    for (const { record, index, type, data } of line.step.events) {
      if (type !== 'tool.claimed' && type !== 'model.claimed') continue;
      claims.set(`${record}#${index}`, { line, deadlineAtMs: data.deadlineAtMs });
    }
  }
  return claims;
}

function forbidden(run: Run, { call, session, hostMs }: EffectSeen, claim: Claim) {
  const { line, deadlineAtMs } = claim;
  const lateMs = Math.floor(hostMs) - deadlineAtMs;
  if (lateMs > 0) return `${lateMs} ms after its deadline`;
  const { service } = line.header;
  const mayRun = run.logics.get(service)?.effects?.mayRun;
  const entry = run.history.entryBefore({ service, session }, line.offset + 1);
  if (mayRun === undefined || entry === undefined) return undefined;
  return mayRun(entry.state, call) ? undefined : `after it had ended or was cancelled`;
}

export const effectsAllowed: Checker = (run) => {
  const claims = claimsOf(run);
  return run.witness.effects.flatMap((effect) => {
    const claim = claims.get(effect.claim);
    const why = claim === undefined ? undefined : forbidden(run, effect, claim);
    if (why === undefined) return [];
    return [
      { rule, detail: `${effect.call} of ${effect.session} started on ${effect.host} ${why}` },
    ];
  });
};
