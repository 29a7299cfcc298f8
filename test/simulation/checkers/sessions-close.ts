import type { Checker } from './violation.ts';

const rule = 'every session of an accepted goal closes';

/** Logs of keys wait for more goals, those of the event store for more records, those of budgets for a week, those of pools for more tasks. */
const endless = /^(key_|sink_|budget:|pool:)/;

export const sessionsClose: Checker = ({ history }) =>
  [...history.sessions.values()]
    .filter(({ session, core }) => core.status === 'open' && !endless.test(session))
    .map(({ session, topic, partition, core }) => ({
      rule,
      detail: `${session} in ${topic}/${partition} is open; its last record is at ${core.last.offset}`,
    }));
