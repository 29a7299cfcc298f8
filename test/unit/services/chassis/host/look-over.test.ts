import { expect, test } from 'vitest';
import { lookOver } from '../../../../../services/chassis/host/look-over.ts';
import type { Slot } from '../../../../../services/chassis/host/slot.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

function bench(sessions: readonly string[]) {
  const clock = new VirtualClock();
  const caution = { hurries: false };
  const settled: string[] = [];
  const nothing = (): void => undefined;
  const table = { get: (session: string) => ({ session }) as Slot, packWhenIdle: nothing };
  const parts = {
    ...{ table, clock, caution, timers: { rearm: nothing }, settler: { kick: nothing } },
    settle: (session: string) => settled.push(session),
  };
  const begin = (): void => lookOver(sessions, parts as unknown as Parameters<typeof lookOver>[1]);
  return { clock, caution, settled, begin };
}

const many = Array.from({ length: 250 }, (_, index) => `ses_${index}`);

test('every session of a partition that was won is looked at, others get their turn between', async () => {
  const { clock, settled, begin } = bench(many);
  begin();
  expect(settled).toHaveLength(100);
  await clock.run(1);
  expect(settled).toEqual(many);
});

test('what stood still goes first, for a while', async () => {
  const { clock, caution, settled, begin } = bench(many);
  caution.hurries = true;
  begin();
  await clock.run(500);
  expect(settled).toEqual([]);
  caution.hurries = false;
  await clock.run(50);
  expect(settled).toEqual(many);
});

test('what never gets done holds nobody up', async () => {
  const { clock, caution, settled, begin } = bench(many);
  caution.hurries = true;
  begin();
  await clock.run(2_100);
  expect(settled).toEqual(many);
});
