import { beforeAll, expect, test } from 'vitest';
import { withContents } from '../../../../replay-tools/read/contents.ts';
import type { SessionSource, SourceRecord } from '../../../../replay-tools/read/source.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import type { TurnBody } from '../../../../services/chassis/protocol/record.ts';
import { recordWorld } from '../../../support/recorded-world.ts';
import { recordsOf, sourceFromWorld, withRecords } from '../../../support/world-session.ts';

/** Turns that foresaw others of their batch (DESIGN 3.5). */

let source: SessionSource;
let records: readonly SourceRecord[];

beforeAll(async () => {
  const { world, goals } = await recordWorld();
  source = await sourceFromWorld(world, goals.asked.session);
  records = await recordsOf(source);
});

const foreseenIn = ({ body }: SourceRecord): readonly string[] =>
  body?.kind === 'turn' ? body.foreseen : [];

/** The first turn with a content that another turn foresaw. */
function foreseenTurn(): SourceRecord {
  const foreseen = new Set(records.flatMap(foreseenIn));
  const found = records.find(
    ({ header, body }) =>
      foreseen.has(header.id) &&
      (body as TurnBody).events.some(({ content }) => content !== undefined),
  );
  if (found === undefined) throw new Error('no turn with a content was foreseen');
  return found;
}

test('are decided again from their base and what they foresaw', async () => {
  const report = await verifySession(source);
  expect(records.flatMap(foreseenIn).length).toBeGreaterThan(5);
  expect(report).toMatchObject({ identical: true, complete: true });
  expect(report.counts.decisions).toBe(report.counts.turns);
});

test('are checked by hash only where a content of what they foresaw is nowhere', async () => {
  const { offset } = foreseenTurn();
  const without = records.map((record) =>
    record.offset === offset && record.body !== undefined
      ? {
          ...record,
          body: withContents(record.body, ({ body: _gone, ...rest }) => ({ ...rest, blob: 'x' })),
        }
      : record,
  );
  const report = await verifySession(withRecords(source, without));
  expect(report.differences).toEqual([]);
  expect(report.counts.hashOnly).toBeGreaterThan(0);
  expect(report.warnings.join('\n')).toContain(`at offset ${offset} on`);
});

test('do not count without it', async () => {
  const { header } = foreseenTurn();
  const without = records.filter((record) => record.header.id !== header.id);
  const report = await verifySession(withRecords(source, without));
  expect(report.identical).toBe(false);
});
