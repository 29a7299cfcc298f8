import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  headersOf,
  parseHeader,
  type RecordBody,
} from '../../../../../services/chassis/protocol/record.ts';
import { checkpointBody, skipped } from '../../../../support/placed-record.ts';
import { epochBody, openingBody, turnBody } from '../../../../support/written-session.ts';

const names = fc.stringMatching(/^[a-z][a-z0-9._#-]{0,20}$/);
const lists = fc.array(names, { maxLength: 4 });
const times = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
const numbers = fc.nat(Number.MAX_SAFE_INTEGER);

const bodies: fc.Arbitrary<RecordBody> = fc
  .record({
    session: names,
    service: names,
    incarnation: names,
    epoch: numbers,
    base: names,
    offset: numbers,
    behaviour: numbers,
    listed: lists,
    atMs: times,
    kind: fc.constantFrom('turn', 'input', 'checkpoint', 'epoch'),
  })
  .map(({ session, listed, offset, kind, ...values }) => {
    const { service, incarnation, epoch, atMs, base } = values;
    const owned = { service, incarnation, epoch, atMs };
    if (kind === 'input') return openingBody(session, { source: service, atMs });
    if (kind === 'epoch')
      return epochBody({ services: listed, number: epoch, incarnation, atMs, host: base });
    if (kind === 'checkpoint') {
      return checkpointBody({ ...owned, session, cursor: { record: base, offset } });
    }
    const { behaviour } = values;
    const own = { ...owned, base, behaviour, foreseen: listed, baseOffset: offset };
    return turnBody(session, listed.map(skipped), own);
  });

test('a header says again what the body says', () => {
  fc.assert(
    fc.property(bodies, names, numbers, (body, id, sequence) => {
      const place = { batch: id, batchIndex: 3, traceparent: '00-a-b-01' };
      const header = parseHeader({
        ...headersOf(id, body, place),
        lr_sequence: String(sequence),
      });
      expect(header).toMatchObject({ id, kind: body.kind, sequence, atMs: body.atMs, ...place });
      if (body.kind === 'epoch') {
        const { services, number, incarnation } = body;
        expect(header).toMatchObject({ services, epoch: number, incarnation, session: '' });
        return;
      }
      expect(header?.session).toBe(body.session);
      expect(header?.service).toBe(body.kind === 'input' ? body.source : body.service);
      if (body.kind === 'checkpoint') expect(header?.cursorOffset).toBe(body.cursor.offset);
      if (body.kind !== 'turn') return;
      const { epoch, incarnation, base, baseOffset, foreseen, behaviour } = body;
      const types = body.events.map((one) => one.type);
      const said = { epoch, incarnation, base, baseOffset, foreseen, behaviour, types };
      expect(header).toMatchObject(said);
    }),
  );
});
