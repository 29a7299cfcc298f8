import type { LogRecord } from '../../../services/chassis/log/port.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'a part of a plan is told once, after it is there and before the result';

const partOf = ({ task, attempt }: { task: string; attempt: number }): string =>
  `${task} ${attempt}`;

/** What the log decided to tell. */
function decided({ session, lines }: SessionHistory): Violation[] {
  const done = new Set<string>();
  const told = new Set<string>();
  const found: Violation[] = [];
  const wrong = (what: string): number => found.push({ rule, detail: `${session}: ${what}` });
  for (const { type, data } of lines.flatMap(({ step }) => step.events)) {
    if (type === 'task.completed') done.add(partOf(data));
    if (type !== 'progress.published') continue;
    const part = partOf(data);
    if (!done.has(part)) wrong(`${part} was told and did not complete`);
    if (told.has(part)) wrong(`${part} was told twice`);
    told.add(part);
  }
  return found;
}

const sameness = ({ headers, value }: LogRecord): string => {
  const { traceparent: _trace, ...rest } = headers;
  return JSON.stringify([rest, Buffer.from(value ?? []).toString('base64')]);
};

/** What readers get: repeats are the same bytes, and the first of each part comes before the result. */
function heard(parts: readonly LogRecord[], results: readonly LogRecord[]): Violation[] {
  const known = new Map<string, string>();
  return parts.flatMap((part) => {
    const id = part.headers['ce_id'] ?? '';
    const before = known.get(id);
    const same = sameness(part);
    known.set(id, before ?? same);
    if (before !== undefined)
      return before === same ? [] : [{ rule, detail: `${id} was told in two ways` }];
    const isLate = results.some(
      ({ key, partition, offset }) =>
        key === part.key && partition === part.partition && offset < part.offset,
    );
    return isLate ? [{ rule, detail: `${part.key}: ${id} came after the result` }] : [];
  });
}

export const partsOnce: Checker = ({ history, parts, results }) => [
  ...[...history.sessions.values()].flatMap(decided),
  ...heard(parts, results),
];
