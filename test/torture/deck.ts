import type { Dice } from '../simulation/world/dice.ts';
import { bag, type Disturbance } from './disturbance.ts';

/** Which disturbance comes next: each kind once first, then bag after bag in an order of its own. */
export class Deck {
  private readonly dice: Dice;
  private left: Disturbance[];

  constructor(dice: Dice) {
    this.dice = dice;
    // A short run has all kinds too.
    this.left = this.shuffled([...new Set(bag)]);
  }

  /**
   * Begins the first that can be done now. What cannot is put off; `isQuiet`: nothing is going on whose end would change
   * that, and what was put off is dropped where it is all that is left.
   */
  next(begin: (kind: Disturbance) => boolean, isQuiet: boolean): void {
    if (this.left.length === 0) this.left = this.shuffled(bag);
    const at = this.left.findIndex((kind) => begin(kind));
    if (at >= 0) this.left.splice(at, 1);
    else if (isQuiet) this.left = this.shuffled(bag);
  }

  private shuffled(kinds: readonly Disturbance[]): Disturbance[] {
    const left = [...kinds];
    const shuffled: Disturbance[] = [];
    while (left.length > 0) shuffled.push(...left.splice(this.dice.between(0, left.length - 1), 1));
    return shuffled;
  }
}
