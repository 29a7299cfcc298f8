import { describe, expect, it } from 'vitest';
import {
  nestingLevelsMax,
  nestsTooDeeply,
} from '../../../../../services/chassis/effects/nesting.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('nesting of a JSON text', () => {
  it('is bounded in lists and objects', () => {
    expect(nestsTooDeeply(nested(nestingLevelsMax))).toBe(false);
    expect(nestsTooDeeply(nested(nestingLevelsMax + 1))).toBe(true);
    const objects = (levels: number) => '{"a":'.repeat(levels) + '1'.padEnd(levels + 1, '}');
    expect(nestsTooDeeply(objects(nestingLevelsMax))).toBe(false);
    expect(nestsTooDeeply(objects(nestingLevelsMax + 1))).toBe(true);
  });

  it('counts levels, not brackets', () => {
    expect(nestsTooDeeply(JSON.stringify(Array.from({ length: 2_000 }, () => [{}])))).toBe(false);
  });

  it('does not count brackets in texts, whatever is escaped there', () => {
    const texts = ['[', '{"', '\\', '\\"', '\\\\"[', '"'].map((text) => text.repeat(1_000));
    expect(nestsTooDeeply(JSON.stringify(texts))).toBe(false);
    expect(nestsTooDeeply(`["\\\\",${nested(nestingLevelsMax)}]`)).toBe(true);
  });
});
