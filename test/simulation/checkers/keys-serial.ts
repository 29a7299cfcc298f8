import type { Checker, Violation } from './violation.ts';

const rule = 'goals of one key run one after another';

type Span = { goalLog: string; fromMs: number; toMs: number };

/** From the log of a key: who held it, in order. Each holder was freed before the next was assigned. */
export const keysSerial: Checker = ({ history }) => {
  const found: Violation[] = [];
  for (const { session, lines } of history.sessions.values()) {
    if (!session.startsWith('key_')) continue;
    let held: Span | undefined;
    for (const { step } of lines) {
      for (const { type, data, atMs } of step.events) {
        if (type === 'key.freed' && held?.goalLog === data.goalLog) held = undefined;
        if (type !== 'key.assigned') continue;
        if (held !== undefined)
          found.push({ rule, detail: `${session}: ${data.goalLog} while ${held.goalLog} held it` });
        held = { goalLog: data.goalLog, fromMs: atMs, toMs: Number.POSITIVE_INFINITY };
      }
    }
  }
  return found;
};
