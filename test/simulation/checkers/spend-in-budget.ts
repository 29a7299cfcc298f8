import type { SeenEvent } from '../../../schemas/event.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'no model call is claimed once the budget of its goal is spent';

const costOf = (event: SeenEvent): number =>
  event.type === 'model.completed' || event.type === 'model.failed' ? event.data.costNanoUsd : 0;

/**
 * From the costs in the log: what was spent at the base of a claim is below the budget. The gateway reserves nothing
 * before a call, so calls that run at once may end above it; with reservations this becomes: the sum is never above.
 */
function checkSession({ session, lines }: SessionHistory): Violation[] {
  const found: Violation[] = [];
  const spent: { offset: number; nanoUsd: number }[] = [];
  let budget = Number.POSITIVE_INFINITY;
  for (const { offset, body, step } of lines) {
    for (const event of step.events) {
      if (event.type === 'session.opened') budget = event.data.budgetNanoUsd ?? budget;
      spent.push({ offset, nanoUsd: costOf(event) });
      if (event.type !== 'model.claimed' || body.kind !== 'turn') continue;
      const known = spent.filter((one) => one.offset <= body.baseOffset);
      const nanoUsd = known.reduce((sum, one) => sum + one.nanoUsd, 0);
      if (nanoUsd < budget) continue;
      const detail = `${session} @${offset}: ${event.data.call} with ${nanoUsd} of ${budget} spent`;
      found.push({ rule, detail });
    }
  }
  return found;
}

export const spendInBudget: Checker = ({ history }) =>
  [...history.sessions.values()]
    .filter(({ session }) => session.startsWith('ses_'))
    .flatMap(checkSession);
