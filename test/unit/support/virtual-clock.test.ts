import { expect, test } from 'vitest';
import { afterEventLoop, afterPromises, VirtualClock } from '../../support/virtual-clock.ts';

/** A chain of so many promises that no fixed number of turns would be enough. */
async function chain(length: number, done: () => void): Promise<void> {
  for (let i = 0; i < length; i++) await Promise.resolve();
  done();
}

for (const settled of [afterEventLoop, afterPromises]) {
  test(`${settled.name}: all that follows from an event is done before the next one`, async () => {
    const clock = new VirtualClock(0, settled);
    const order: string[] = [];
    clock.after(1, () => {
      chain(200, () => order.push('chain of the first')).catch(() => undefined);
    });
    clock.after(1, () => order.push('second'));
    clock.after(2, () => {
      chain(50, () => order.push('chain of the third')).catch(() => undefined);
    });
    await clock.run(2);
    expect(order).toEqual(['chain of the first', 'second', 'chain of the third']);
  });
}
