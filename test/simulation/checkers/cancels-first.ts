import type { SessionHistory } from '../world/history.ts';
import type { Checker } from './violation.ts';

const rule = 'what is cancelled before it begins does not begin';

const cancels: ReadonlySet<string> = new Set(['session.cancel-requested', 'goal.cancel-received']);
const openings: ReadonlySet<string> = new Set(['session.opened', 'goal.received']);
const beginnings: ReadonlySet<string> = new Set(['goal.admitted', 'session.completed']);

/** Whether a cancel stands in the log before the first opening, whatever the fold made of it. */
function cancelledFirst({ lines }: SessionHistory): boolean {
  const types = lines.flatMap(({ body }) => (body.kind === 'input' ? [body.event.type] : []));
  const first = types.find((type) => cancels.has(type) || openings.has(type));
  return first !== undefined && cancels.has(first) && types.some((type) => openings.has(type));
}

export const cancelsFirst: Checker = ({ history }) =>
  [...history.sessions.values()].filter(cancelledFirst).flatMap((one) => {
    const begun = one.lines.flatMap(({ step }) => step.events).find((e) => beginnings.has(e.type));
    if (begun === undefined) return [];
    return [{ rule, detail: `${one.session} was cancelled first, and has ${begun.type}` }];
  });
