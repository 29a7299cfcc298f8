import type { LogRecord } from '../../../services/chassis/log/port.ts';
import type { Checker } from './violation.ts';

const rule = 'every goal has exactly one result, and repeats of it are the same bytes';

/** The framed value starts with a zero byte and the schema's id. */
const frameBytes = 5;

const textOf = ({ value }: LogRecord): string =>
  Buffer.from(value ?? []).toString('utf8', frameBytes);

const goalOf = (record: LogRecord): string =>
  String((JSON.parse(textOf(record)) as { goalId?: string }).goalId);

/** All that a reader gets, but for the trace, which says how it came and not what it is. */
function sameness(record: LogRecord): string {
  const { traceparent: _trace, ...headers } = record.headers;
  return JSON.stringify([record.key, headers, textOf(record)]);
}

export const oneResult: Checker = ({ published, results }) => {
  const byGoal = new Map<string, Set<string>>();
  for (const record of results) {
    const goal = goalOf(record);
    byGoal.set(goal, (byGoal.get(goal) ?? new Set()).add(sameness(record)));
  }
  return published.flatMap((goal) => {
    const found = [...(byGoal.get(goal) ?? [])];
    if (found.length === 1) return [];
    return [{ rule, detail: `${goal} has ${found.length} results: ${found.join(' and ')}` }];
  });
};
