import { decideEntry, noFacts } from '../../../services/chassis/protocol/decision.ts';
import type { Checker } from './violation.ts';

const rule = 'in the end nothing is due that nobody has decided';

/** Sessions that stay open (logs of keys) owe nothing; closed ones cannot. */
export const causesAnswered: Checker = ({ history }) =>
  [...history.sessions.values()]
    .filter(({ core }) => core.status === 'open')
    .flatMap(({ session, topic, core }) =>
      history.servicesOf(topic).flatMap((service) => {
        const logic = history.logicOf(service);
        const entry = history.foldsOf(service, session).at(-1)?.entry;
        if (logic === undefined || entry === undefined) return [];
        const due = decideEntry(logic, entry, noFacts(core.last.atMs)).map(({ type }) => type);
        const owed = [...due, ...Object.keys(entry.outbox).map((one) => `delivery of ${one}`)];
        if (owed.length === 0) return [];
        return [{ rule, detail: `${service} in ${session} owes ${owed.join(', ')}` }];
      }),
    );
