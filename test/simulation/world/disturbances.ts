import type { Dice } from './dice.ts';
import type { Action } from './schedule-shape.ts';
import { strangeKinds } from './strange-records.ts';

/** What goes wrong in a run, drawn from its seed. */

/** What comes from outside, or happens to a machine. */
function inTheWorld(dice: Dice, atMs: number, kind: number): Action {
  const victim = dice.fraction();
  if (kind === 21) return { atMs, do: 'commit', victim };
  if (kind <= 23) {
    const byMs = dice.between(50, 4_000) * dice.pick([1, 1, -1]);
    return { atMs, do: 'jump', victim, byMs };
  }
  if (kind === 24) return { atMs, do: 'blobs-away', forMs: dice.between(50, 2_000) };
  if (kind === 25) return { atMs, do: 'echo', where: victim, count: dice.between(1, 6) };
  return { atMs, do: 'strange', where: victim, kind: dice.pick(strangeKinds) };
}

function disturbance(dice: Dice, atMs: number): Action {
  const victim = dice.fraction();
  const kind = dice.between(0, 29);
  const shortMs = dice.between(50, 3_000);
  const longMs = dice.between(500, 14_000);
  if (kind <= 1) return { atMs, do: 'crash', victim };
  if (kind <= 3) {
    const appends = dice.between(1, 12);
    return { atMs, do: 'crash-appending', victim, appends, afterMs: dice.fraction() * 4 };
  }
  if (kind === 4) return { atMs, do: 'stop', victim };
  if (kind <= 7) {
    const deafMs = dice.chance(0.6) ? shortMs : 0;
    return { atMs, do: 'expel', victim, forMs: longMs, deafMs, dies: dice.chance(0.4) };
  }
  if (kind === 8) return { atMs, do: 'freeze', victim, forMs: longMs };
  if (kind === 9) return { atMs, do: 'deafen', victim, forMs: shortMs };
  if (kind === 10) return { atMs, do: 'silence', victim, forMs: longMs };
  if (kind <= 12) return { atMs, do: 'rebalance', victim };
  if (kind <= 14) return { atMs, do: 'checkpoint', victim };
  if (kind === 15) return { atMs, do: 'broker-away', forMs: dice.between(50, 2_500) };
  if (kind <= 18) return { atMs, do: 'crash-anywhere', victim, passes: dice.between(1, 150) };
  if (kind <= 20) {
    return { atMs, do: 'crash-delivering', victim, afterMs: dice.fraction() * 3 };
  }
  if (kind >= 28) return { atMs, do: 'freeze-running', forMs: dice.between(7_000, 15_000) };
  return inTheWorld(dice, atMs, kind);
}

/** Every schedule has at least one crash and one zombie, whatever else it draws. */
export function disturbances(dice: Dice, calmAtMs: number): Action[] {
  const when = (): number => dice.between(800, calmAtMs - 1);
  const most = dice.pick([8, 12, 12, 30]);
  const drawn = Array.from({ length: dice.between(4, most) }, () => disturbance(dice, when()));
  const crash: Action = { atMs: when(), do: 'crash', victim: dice.fraction() };
  const forMs = dice.between(1_000, 9_000);
  const deafMs = dice.between(100, 2_000);
  const zombie: Action = {
    ...{ atMs: when(), do: 'expel', victim: dice.fraction() },
    ...{ forMs, deafMs, dies: dice.chance(0.3) },
  };
  const compared = Array.from({ length: 4 }, (): Action => {
    return { atMs: when(), do: 'compare', victim: dice.fraction() };
  });
  const lost: Action = {
    ...{ atMs: when() / 2, do: 'freeze-running' },
    forMs: dice.between(8_000, 15_000),
  };
  const again: Action = { atMs: when(), do: 'echo', where: dice.fraction(), count: 3 };
  return [...drawn, crash, zombie, again, lost, ...compared];
}
