import type { GoalName } from '../../client/goal-name.ts';
import { type Call, type OptionSpec, textOption } from './context.ts';

/** What a goal is told from others of the same id by. */
export const goalNameOptions: readonly OptionSpec[] = [
  { flags: '--tenant <tenant>', about: 'the tenant of the goal, if it named one' },
  { flags: '--source <source>', about: 'the ce_source of the goal, if it had one' },
];

/** The goal that `<id>` and the options name: a session id says it all. */
export function goalNameOf(call: Call): GoalName {
  const [id = ''] = call.args;
  const tenant = textOption(call, 'tenant');
  const source = textOption(call, 'source');
  if (id.startsWith('ses_') || (tenant === undefined && source === undefined)) return id;
  const place = { ...(tenant === undefined ? {} : { tenant }), ...(source && { source }) };
  return { goalId: id, ...place };
}
