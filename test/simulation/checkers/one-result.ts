import type { LogRecord } from '../../../services/chassis/log/port.ts';
import { sessionId } from '../../../services/chassis/protocol/ids.ts';
import type { Checker } from './violation.ts';

const rule = 'every goal has exactly one result, and repeats of it are the same bytes';

const valueOf = ({ headers, value }: LogRecord): string => {
  const { traceparent: _trace, ...rest } = headers;
  return JSON.stringify([rest, Buffer.from(value ?? []).toString('utf8')]);
};

export const oneResult: Checker = ({ published, results }) =>
  published.flatMap((goalId) => {
    const session = sessionId('default', 'world', goalId);
    const own = results.filter(({ key }) => key === session);
    if (own.length === 0) return [{ rule, detail: `${goalId} (${session}) has no result` }];
    const values = new Set(own.map(valueOf));
    if (values.size === 1) return [];
    return [{ rule, detail: `${goalId} has ${values.size} results: ${[...values].join(' and ')}` }];
  });
