import { sinksTopic } from '../../../schemas/topics.ts';
import type { History, Line } from '../world/history.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'rows in the event store equal records in the log, none twice';

/** A checkpoint counts only in an open session: one that came after the end is of no use to anybody. */
function countsAsCheckpoint(history: History, { header, accepted, offset }: Line): boolean {
  const lines = history.sessions.get(header.session)?.lines ?? [];
  const before = lines.findLast((line) => line.offset < offset);
  return accepted && before?.step.core.status === 'open';
}

/** What the log asks for: a row for each event of a turn, one for everything else; and which of them count. */
function expectedOf(history: History, line: Line | undefined): readonly boolean[] {
  if (line === undefined) return [false];
  const { step, body } = line;
  const count = body.kind === 'turn' ? body.events.length : 1;
  if (line.header.kind === 'epoch') return [line.accepted];
  if (line.header.kind === 'checkpoint') return [countsAsCheckpoint(history, line)];
  return Array.from({ length: count }, (_, index) => index < step.events.length);
}

export const sinkRows: Checker = ({ sink, history, logs, schedule }) => {
  if (!schedule.store) return [];
  const found: Violation[] = sink.conflicts.map((token) => ({
    rule,
    detail: `${token} was written again with other rows`,
  }));
  const known = new Map(
    history.lines.map((line) => [`${line.topic}/${line.partition}@${line.offset}`, line]),
  );
  const expected = new Set<string>();
  for (const { topic, partition, offset } of [...logs.values()].flat()) {
    if (topic === sinksTopic) continue;
    const line = known.get(`${topic}/${partition}@${offset}`);
    for (const [index, effective] of expectedOf(history, line).entries()) {
      const address = `${topic}/${partition}@${offset}#${index}`;
      expected.add(address);
      const row = sink.rows.get(address);
      if (row?.count !== 1)
        found.push({ rule, detail: `${address} is there ${row?.count ?? 0} times` });
      else if (line !== undefined && row.effective !== effective)
        found.push({
          rule,
          detail: `${address} counts: ${row.effective}, in the log ${effective}`,
        });
    }
  }
  for (const [address, { count }] of sink.rows)
    if (!expected.has(address) || count > 1)
      found.push({ rule, detail: `${address} is there ${count} times and not in the log` });
  return found;
};
