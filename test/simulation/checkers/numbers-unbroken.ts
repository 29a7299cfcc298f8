import type { Line } from '../world/history.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'what a current owner writes has the next number, or one that was used';

/** The highest number of each epoch, by partition and service. */
type Numbers = Map<string, { epoch: number; incarnation: string; sequence: number }>;

const nameOf = ({ topic, partition }: Line, service: string): string =>
  `${topic}/${partition} ${service}`;

function begins(numbers: Numbers, line: Line): void {
  const { header } = line;
  if (!line.accepted) return;
  for (const service of header.services) {
    const name = nameOf(line, service);
    if (header.epoch <= (numbers.get(name)?.epoch ?? 0)) continue;
    const { epoch, incarnation } = header;
    numbers.set(name, { epoch, incarnation, sequence: 0 });
  }
}

function skipped(numbers: Numbers, line: Line): string | undefined {
  const { header } = line;
  const current = numbers.get(nameOf(line, header.service));
  if (current?.epoch !== header.epoch || current.incarnation !== header.incarnation)
    return undefined;
  const expected = current.sequence + 1;
  if (header.sequence > expected) return `${header.sequence} after ${current.sequence}`;
  current.sequence = Math.max(current.sequence, header.sequence);
  return undefined;
}

/** From headers alone, not from what acceptance makes of them. A number that is skipped voids all that follow. */
export const numbersUnbroken: Checker = ({ history }) => {
  const numbers: Numbers = new Map();
  return history.lines.flatMap((line): Violation[] => {
    const { kind } = line.header;
    if (kind === 'epoch') begins(numbers, line);
    if (kind !== 'turn' && kind !== 'checkpoint') return [];
    const found = skipped(numbers, line);
    if (found === undefined) return [];
    const at = `${line.topic}/${line.partition}@${line.offset}`;
    return [{ rule, detail: `${at}: ${line.header.service} has number ${found}` }];
  });
};
