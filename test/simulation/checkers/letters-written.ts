import { letterIdOf } from '../../../services/chassis/protocol/dead-letter.ts';
import { messageId } from '../../../services/chassis/protocol/ids.ts';
import { addressOf } from '../../../services/chassis/protocol/service-logic.ts';
import { logTopics } from '../world/network.ts';
import type { Run } from '../world/run-outcome.ts';
import type { Checker } from './violation.ts';

const rule = 'what cannot be worked on leaves a dead letter, always the same one';

type Expected = Readonly<{ id: string; about: string }>;

/** Of each failed decision that counts, and of each record that nobody can read. */
function expectedIn({ history, poisoned }: Run): Expected[] {
  const failed = history.lines.flatMap(({ step, topic, offset }) =>
    step.events.flatMap((event) => {
      if (event.type !== 'decision.failed') return [];
      const id = messageId(step.core.meta.session, ['dead-letter', addressOf(event)]);
      return [{ id, about: `${event.data.service} failed at ${topic}@${offset}` }];
    }),
  );
  const unreadable = [...poisoned].flatMap((about) => {
    const [, topic = '', partition, offset] = /^(.*)\/(\d+)@(\d+)$/.exec(about) ?? [];
    if (!logTopics.includes(topic)) return [];
    const id = letterIdOf({ topic, partition: Number(partition), offset: Number(offset) });
    return [{ id, about }];
  });
  return [...failed, ...unreadable];
}

export const lettersWritten: Checker = (run) => {
  const texts = new Map<string, Set<string>>();
  for (const { key, headers, value } of run.deadLetters) {
    const { traceparent: _trace, ...others } = headers;
    const text = JSON.stringify([key, others, Buffer.from(value ?? []).toString('utf8', 5)]);
    const id = headers['ce_id'] ?? '';
    texts.set(id, (texts.get(id) ?? new Set()).add(text));
  }
  const missing = expectedIn(run).filter(({ id }) => !texts.has(id));
  const changed = [...texts].filter(([, found]) => found.size > 1);
  return [
    ...missing.map(({ about }) => ({ rule, detail: `none of ${about}` })),
    ...changed.map(([id, found]) => ({ rule, detail: `${id}: ${[...found].join(' and ')}` })),
  ];
};
