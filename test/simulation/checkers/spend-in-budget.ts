import { dayBudget } from '../world/effects.ts';
import type { Line } from '../world/history.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'spend never above budget';

/** What a call really cost, whether its outcome counts or came late: the money is gone. */
function costOf({ header, body }: Line): [string, number] | undefined {
  if (body.kind !== 'input') return undefined;
  const { type, data } = body.event;
  if (!/^model\.(completed|failed|attempt-failed)$/.test(type)) return undefined;
  return [header.id, Number(data['costNanoUsd'])];
}

const dayRule = 'sessions of a tenant never spend more than its day allows';

/** All sessions of a simulated world are of one tenant, and of one day. */
export const spendInDay: Checker = ({ history, schedule }) => {
  // Where clocks jump, a day may begin.
  if (schedule.actions.some((one) => one.do === 'jump')) return [];
  const costs = new Map(history.lines.flatMap((line) => [costOf(line) ?? ['', 0]]));
  const spent = [...costs.values()].reduce((sum, one) => sum + one, 0);
  const { limitNanoUsd } = dayBudget;
  if (spent <= limitNanoUsd) return [];
  return [{ rule: dayRule, detail: `all sessions spent ${spent} of ${limitNanoUsd}` }];
};

/** What child sessions spend is spent of the budget of their parent too. Records of a session that closed are in nobody's history any more, but they stand in the log. */
export const spendInBudget: Checker = ({ history }) => {
  const budgets = new Map<string, number>();
  const spent = new Map<string, Map<string, number>>();
  const parents = new Map<string, string>();
  for (const line of history.lines) {
    const { session } = line.header;
    for (const event of line.step.events) {
      const budget = event.type === 'session.opened' ? event.data.budgetNanoUsd : undefined;
      if (budget !== undefined) budgets.set(session, budget);
      if (event.type === 'session.opened' && event.data.parent !== undefined)
        parents.set(session, event.data.parent.session);
      const before = budgets.get(session);
      // A person allowed more.
      if (event.type === 'budget.raised' && before !== undefined)
        budgets.set(session, before + event.data.byNanoUsd);
    }
    const cost = costOf(line);
    if (cost === undefined) continue;
    for (const payer of [session, parents.get(session) ?? session])
      spent.set(payer, (spent.get(payer) ?? new Map()).set(...cost));
  }
  return [...budgets].flatMap(([session, budget]): Violation[] => {
    const nanoUsd = [...(spent.get(session)?.values() ?? [])].reduce((sum, one) => sum + one, 0);
    return nanoUsd <= budget ? [] : [{ rule, detail: `${session} spent ${nanoUsd} of ${budget}` }];
  });
};
