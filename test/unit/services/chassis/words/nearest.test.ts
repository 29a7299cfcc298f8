import { describe, expect, it } from 'vitest';
import { nearest } from '../../../../../services/chassis/words/nearest.ts';

const known = ['intake', 'planner', 'supervisor', 'worker-pool'];

describe('the nearest name', () => {
  it.each([
    ['intak', 'intake'],
    ['plannner', 'planner'],
    ['supervizor', 'supervisor'],
    ['workerpool', 'worker-pool'],
  ])('of %s is %s', (word, name) => expect(nearest(word, known)).toBe(name));

  it('is none where nothing is near', () => {
    expect(nearest('database', known)).toBeUndefined();
    expect(nearest('', known)).toBeUndefined();
  });
});
