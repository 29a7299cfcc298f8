import { expect, test } from 'vitest';
import type { SeenEvent } from '../../../../schemas/event.ts';
import {
  decideTemplates,
  foldTemplates,
  noTemplates,
} from '../../../../services/supervisor/pool/template-breaker.ts';

const at = { pool: 'test', nowMs: 2_000 };
const seen = (type: string, data: object): SeenEvent =>
  ({ type, data, content: {}, record: 'trn_1', index: 0, atMs: 1_000 }) as unknown as SeenEvent;

/** Simulation, seed 190 (long): the supervisor took it out while an attempt of another session completed. */
test('a suspension that reaches the log after an attempt completed is ended there', () => {
  const data = { agent: 'caller', digest: 'd1', failures: 2, suspensions: 1, untilMs: 5_000 };
  const late = foldTemplates(
    noTemplates,
    seen('template.suspended', { pool: 'test', ...data }),
    () => undefined,
  );
  const [resumed, ...more] = decideTemplates(late, at);
  expect(resumed).toMatchObject({
    type: 'template.resumed',
    data: { pool: 'test', agent: 'caller', digest: 'd1', suspensions: 1 },
  });
  expect(more).toEqual([]);
  const ended = foldTemplates(
    late,
    seen('template.resumed', { pool: 'test', digest: 'd1' }),
    () => undefined,
  );
  expect(ended).toEqual(noTemplates);
});
