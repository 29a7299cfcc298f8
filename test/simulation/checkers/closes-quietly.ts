import type { Checker } from './violation.ts';

const rule = 'no session closes while one of its calls runs';

/** Whoever decides to close has read or foreseen no claim that is open. */
export const closesQuietly: Checker = ({ history }) =>
  [...history.turns()].flatMap(({ line, seen }) => {
    if (!line.step.events.some(({ type }) => type === 'session.closed')) return [];
    const open = Object.entries(seen?.entry.core.calls ?? {}).filter(
      ([, one]) => one.status === 'claimed',
    );
    return open.map(([call]) => ({
      rule,
      detail: `${line.header.session} closed at ${line.topic}/${line.partition}@${line.offset} with ${call}`,
    }));
  });
