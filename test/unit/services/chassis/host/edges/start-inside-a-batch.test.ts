// Hard edge 1b.6.
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../../../../schemas/json.ts';
import { watermarksTopic } from '../../../../../../schemas/topics.ts';
import type { Watermark } from '../../../../../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import type { OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';
import {
  type AcceptanceState,
  accept,
} from '../../../../../../services/chassis/protocol/acceptance.ts';
import {
  type PlacedRecord,
  parseHeader,
  type RecordBody,
} from '../../../../../../services/chassis/protocol/record.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
  saveEntry,
} from '../../../../../../services/chassis/protocol/service-fold.ts';
import {
  CounterWorld,
  counter,
  partitions,
  sent,
  topic,
} from '../../../../../support/counter-world.ts';
import { checkpointBody, skipped } from '../../../../../support/placed-record.ts';
import {
  epochBody,
  openingBody,
  recordOf,
  turnBody,
} from '../../../../../support/written-session.ts';

/**
 * Batches of turns that foresaw each other, as a host of several services appends them (DESIGN 3.5), written by hand: a
 * reader that starts between two of them sees what one sees that read all.
 */

const session = 'ses_fused';
const at = { topic, partition: partitionOf(session, partitions) };
const codec = createFixedCodec();

type Written = Readonly<{ id: string; body: RecordBody; sequence?: number }>;

/** A log from its start, with what each record is and who reads what. */
class Hand {
  readonly records: OutgoingRecord[] = [];
  readonly placed: PlacedRecord[] = [];
  private readonly acceptance: AcceptanceState = {};
  /** Acceptance before the record at each offset. */
  readonly before: AcceptanceState[] = [];
  readonly accepted: boolean[] = [];

  write({ id, body, sequence }: Written): void {
    const record = recordOf(id, body, codec, sequence === undefined ? {} : { sequence });
    const header = parseHeader(record.headers);
    if (header === undefined) throw new Error('not a record of ours');
    this.before.push(structuredClone(this.acceptance));
    this.accepted.push(accept(this.acceptance, header));
    this.placed.push({ offset: this.records.length, header, body });
    this.records.push(record);
  }

  /** What the counter knows after the record at this offset. */
  entryAt(offset: number): ServiceEntry {
    return this.placed
      .filter((record) => record.offset <= offset && this.accepted[record.offset] === true)
      .filter(({ header }) => header.session === session)
      .reduce((now, record) => foldEntry(counter, now, { record }), newEntry(counter, session));
  }
}

const turn = (id: string, service: string, foreseen: readonly string[]) => ({
  id,
  body: turnBody(session, [skipped(id)], { service, foreseen, base: 'inp_open' }),
});

/** Three turns of two services in one batch; the second is void where its service was taken over. */
function batch(isTakenOver: boolean): Hand {
  const hand = new Hand();
  hand.write({ id: 'epo_1', body: epochBody({ services: ['planner', 'supervisor', 'counter'] }) });
  hand.write({ id: 'inp_open', body: openingBody(session) });
  const other = epochBody({ services: ['supervisor'], number: 2, incarnation: 'other' });
  hand.write({
    id: 'epo_2',
    body: isTakenOver ? other : epochBody({ services: ['x'], number: 2 }),
  });
  hand.write({ ...turn('trn_a', 'planner', []), sequence: 1 });
  hand.write({ ...turn('trn_b', 'supervisor', ['trn_a']), sequence: 1 });
  hand.write({ ...turn('trn_c', 'planner', ['trn_a', 'trn_b']), sequence: 2 });
  hand.write({ ...turn('trn_d', 'planner', ['trn_a']), sequence: 3 });
  return hand;
}

/** The counter's checkpoint after the first turn of the batch, and its mark at the second. */
function cut(hand: Hand, cursor: number): Watermark {
  const entry = hand.entryAt(cursor);
  const body = saveEntry(entry) as JsonValue;
  const { record, offset } = entry.core.last;
  const state = { digest: 'd', mediaType: 'application/json', bytes: 1, body };
  const checkpoint = checkpointBody({
    ...{ session, service: 'counter', state, cursor: { record, offset } },
    fold: counter.fold,
  });
  hand.write({ id: 'ckp_1', body: checkpoint, sequence: 1 });
  const acceptance = hand.before[cursor + 1] ?? {};
  return { service: 'counter', ...at, offset: cursor + 1, acceptance };
}

async function started(hand: Hand, mark?: Watermark): Promise<CounterWorld> {
  const world = await CounterWorld.start();
  world.cluster.write(at, hand.records);
  if (mark !== undefined) {
    const key = `mark/counter/${topic}/${at.partition}`;
    const headers = { ce_type: 'longrein.watermark.v1', ce_id: key };
    const record = { key, headers, value: codec.encode('watermark', mark) };
    world.cluster.write({ topic: watermarksTopic, partition: 0 }, [record]);
    await world.during(world.cluster.connect('janitor').trim(at, mark.offset));
  }
  return world;
}

/** What the host's own checkpoint says after it answered one more input. */
async function stateOf(world: CounterWorld): Promise<unknown> {
  const { host } = await world.startHost('one', 600_000);
  for (let count = 0; count < 4; count++) world.send(session, sent());
  await world.clock.run(1_000);
  await world.during(host.stop(8_000));
  const saved = world.checkpointsOf(session).at(-1)?.state.body as { state: unknown; core: object };
  const { recent } = saved.core as { recent: readonly string[] };
  return { state: saved.state, foreseeable: recent.filter((id) => /^trn_[a-d]$/.test(id)) };
}

describe.each([
  ['all of whose turns count', false, ['trn_a', 'trn_b', 'trn_c', 'trn_d']],
  ['with a void turn in its middle', true, ['trn_a', 'trn_d']],
] as const)('a fused batch %s', (_what, isTakenOver, effective) => {
  test('counts but for what is void and what foresaw that', () => {
    const hand = batch(isTakenOver);
    const { core, state } = hand.entryAt(6);
    expect(core.recent).toEqual(effective);
    expect(state).toMatchObject({ answered: effective.length });
    expect(core.last.record).toBe('trn_d');
  });

  test.each([3, 4, 5])(
    'is the same to a host that starts behind offset %i, in its middle',
    async (cursor) => {
      const whole = await stateOf(await started(batch(isTakenOver)));
      const hand = batch(isTakenOver);
      const world = await started(hand, cut(hand, cursor));
      expect(await stateOf(world)).toEqual(whole);
      expect(whole).toMatchObject({ foreseeable: effective });
    },
  );

  test('is void from its middle on to a reader whose checkpoint forgot what could be foreseen', () => {
    const hand = batch(isTakenOver);
    const { core, ...entry } = hand.entryAt(3);
    const forgetful = { ...entry, core: { ...core, recent: [] } };
    const last = hand.placed
      .slice(4)
      .filter(({ offset }) => hand.accepted[offset] === true)
      .reduce<ServiceEntry>((now, record) => foldEntry(counter, now, { record }), forgetful);
    expect(last.state).toMatchObject({ answered: 1 });
  });
});
