import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import { canonical } from '../../../../services/chassis/protocol/hash.ts';
import { problemOfEvent } from '../../../../services/chassis/protocol/validate.ts';
import { goalInput } from '../../../../services/intake/goal-input.ts';
import { parseGoal } from '../../../../services/intake/parse-goal.ts';
import { catalog, echo, goalRecord } from '../../../support/goal-record.ts';

/** Whatever other systems write, intake makes one valid event of it and never throws. */

const codec = createFixedCodec();
const members = fc.record(
  {
    id: fc.oneof(fc.string(), fc.integer()),
    goal: fc.oneof(fc.constant('Say it.'), fc.jsonValue()),
    plan: fc.oneof(fc.constantFrom('echo', 'count', '__proto__', 'toString'), fc.string()),
    inputs: fc.oneof(fc.constant({ said: 'x' }), fc.object()),
    context: fc.object(),
    tenant: fc.oneof(fc.constant('acme'), fc.string()),
    labels: fc.dictionary(fc.string(), fc.string()),
    key: fc.string(),
    priority: fc.constantFrom('high', 'normal', 'bulk', 'urgent'),
    timeoutMs: fc.integer(),
    cancel: fc.string(),
  },
  { requiredKeys: [] },
);
const values = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.json(),
  members.map((one) => JSON.stringify(one)),
  members.map((one) => JSON.stringify({ ...echo, ...one })),
  members.map((one) => codec.encode('goal', one)),
);
const headers = fc.record({ ce_id: fc.string(), ce_source: fc.string() }, { requiredKeys: [] });

test('any bytes become one input that its schema accepts, the same one each time', () => {
  fc.assert(
    fc.property(values, headers, (value, given) => {
      const record = goalRecord(value, { headers: given });
      const input = goalInput(record, parseGoal(record, { codec, catalog }), {
        laneOf: (lane) => lane,
        rules: [],
      });
      expect(problemOfEvent(input.body.event)).toBeUndefined();
      expect(input.body.tenant).not.toBe('');
      const again = goalInput(record, parseGoal(record, { codec, catalog }), {
        laneOf: (lane) => lane,
        rules: [],
      });
      expect(canonical(again)).toBe(canonical(input));
    }),
    { numRuns: 300 },
  );
});
