import fc from 'fast-check';
import { expect, test } from 'vitest';
import { json } from '../../../../../schemas/event.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import { createMemoryBlobs } from '../../../../../services/chassis/content/blobs.ts';
import { fillContents, spillContents } from '../../../../../services/chassis/content/spill.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import type { RecordBody, TurnBody } from '../../../../../services/chassis/protocol/record.ts';
import { completed } from '../../../../support/placed-record.ts';
import { turnBody } from '../../../../support/written-session.ts';

const codec = createFixedCodec();
const values = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;

test('contents come back from blobs and bytes as they were, whatever the limit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(values, { maxLength: 5 }), fc.nat(40), async (results, limit) => {
      const store = createMemoryBlobs();
      const drafts = results.map((one) => ({
        ...completed('c', 'x#0'),
        content: { result: json(one) },
      }));
      const body = turnBody('ses_one', drafts);
      const spilled = await spillContents(body, store, limit);
      const read = codec.decode(codec.encode('turn', spilled)).body as RecordBody;
      const filled = (await fillContents(read, store)) as TurnBody;
      const contentsOf = (turn: TurnBody) =>
        turn.events.map((one) => one.content?.['result']?.body);
      expect(JSON.stringify(contentsOf(filled))).toBe(JSON.stringify(contentsOf(body)));
    }),
  );
});
