import { describe, expect, test } from 'vitest';
import type {
  ListedService,
  Place,
  Watermark,
} from '../../../../services/chassis/host/watermark-records.ts';
import {
  floorOf,
  holdersOf,
  type PartitionView,
  placeDue,
  planTrim,
} from '../../../../services/janitor/decide.ts';

const name = { topic: 'longrein.sessions.normal', partition: 1 };
const acceptance = (offset: number) => ({
  planner: { number: 1, incarnation: 'one', sequence: offset },
});
const mark = (service: string, offset: number): Watermark => ({
  ...{ ...name, service, offset },
  acceptance: acceptance(offset),
});
const listed = (service: string, more: Partial<ListedService> = {}): ListedService => ({
  ...{ service, topics: [name.topic], release: '1', atMs: 0 },
  ...more,
});
const place = (offset: number, atMs = 0): Place => ({
  ...{ ...name, offset, atMs },
  acceptance: acceptance(offset),
});
const deed = { by: 'ann', reason: 'gone', atMs: 5 };

const view = (more: Partial<PartitionView> = {}): PartitionView => ({
  ...{ name, bounds: { low: 0, high: 1_000 }, nowMs: 10_000, spacingMs: 1_000 },
  marks: [mark('planner', 400), mark('supervisor', 300)],
  services: [listed('planner'), listed('supervisor')],
  ...{ places: [], trims: [] },
  ...more,
});

describe('who holds a partition', () => {
  test('is every listed service of its topic, and whoever has a mark there, but none retired', () => {
    const services = [
      listed('planner'),
      listed('other', { topics: ['longrein.keys'] }),
      listed('old', { retired: deed }),
    ];
    const marks = [mark('unlisted', 7), mark('old', 3)];
    expect(holdersOf({ name, services, marks })).toEqual(['planner', 'unlisted']);
  });

  test('a listed service without a mark holds everything; retired, it holds nothing', () => {
    const services = [listed('planner'), listed('supervisor'), listed('pool')];
    expect(floorOf(view({ services }))).toBeUndefined();
    expect(planTrim(view({ services, places: [place(200)] }), 1_000).trim).toBeUndefined();
    const without = [...services.slice(0, 2), listed('pool', { retired: deed })];
    expect(floorOf(view({ services: without }))?.offset).toBe(300);
    expect(floorOf(view({ marks: [], services: [] }))).toBeUndefined();
  });
});

describe('a place', () => {
  test('is noted at the lowest mark, with the acceptance state there', () => {
    expect(placeDue(view())).toEqual(place(300, 10_000));
  });

  test('is not noted again too soon, nor where nothing moved, nor where the log is another one', () => {
    expect(placeDue(view({ places: [place(200, 9_500)] }))).toBeUndefined();
    expect(placeDue(view({ places: [place(200, 8_900)] }))?.offset).toBe(300);
    expect(placeDue(view({ places: [place(300, 0)] }))).toBeUndefined();
    expect(placeDue(view({ trims: [place(300)] }))).toBeUndefined();
    expect(placeDue(view({ bounds: { low: 0, high: 299 } }))).toBeUndefined();
  });
});

describe('a trim', () => {
  test('is the highest place that is old enough and below every mark', () => {
    const places = [place(100), place(200), place(350, 9_500)];
    const plan = planTrim(view({ places }), 220);
    expect(plan.trim).toEqual(place(200, 10_000));
    expect(plan.deleteBelow).toBe(200);
    expect(plan.passedPlaces.map(({ offset }) => offset)).toEqual([100, 200]);
    expect(plan.passedTrims).toEqual([]);
    // The marks went back, as those of a process that lives on may: nothing above them is deleted.
    expect(planTrim(view({ places, marks: [mark('planner', 150)] }), 900).trim).toBeUndefined();
  });

  test('waits for the retention time', () => {
    const plan = planTrim(view({ places: [place(100)] }), 99);
    expect([plan.trim, plan.deleteBelow]).toEqual([undefined, undefined]);
  });

  test('without a retention time is the place that was just found', () => {
    const plan = planTrim(view(), 1_000);
    expect([plan.place, plan.trim?.offset, plan.deleteBelow]).toEqual([undefined, 300, 300]);
  });

  test('only grows: a lower one is taken off, and one that was not carried out is', () => {
    const trims = [place(100), place(250)];
    const plan = planTrim(
      view({ trims, places: [place(200)], bounds: { low: 90, high: 1_000 } }),
      220,
    );
    expect(plan.trim).toBeUndefined();
    expect(plan.deleteBelow).toBe(250);
    expect(plan.passedPlaces.map(({ offset }) => offset)).toEqual([200]);
    expect(plan.passedTrims.map(({ offset }) => offset)).toEqual([100]);
  });

  test('is carried out only where the log holds its place', () => {
    const bounds = { low: 0, high: 200 };
    expect(planTrim(view({ trims: [place(250)], bounds }), 0).deleteBelow).toBeUndefined();
  });
});
