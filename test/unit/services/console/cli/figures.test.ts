import { describe, expect, it } from 'vitest';
import {
  bytes,
  count,
  cut,
  dollars,
  duration,
  oneLine,
  shortId,
} from '../../../../../services/console/cli/figures.ts';

describe('figures for people', () => {
  it.each([
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1_240, '1.2 s'],
    [65_000, '1 min 05 s'],
    [3_725_000, '1 h 02 min'],
  ])('writes %d ms as %s', (ms, text) => expect(duration(ms)).toBe(text));

  it.each([
    [0, '$0'],
    [1, '$0.000000001'],
    [2_500_000, '$0.0025'],
    [1_234_000_000, '$1.23'],
  ])('writes %d nano-USD as %s', (nano, text) => expect(dollars(nano)).toBe(text));

  it.each([
    [12, '12 B'],
    [1_500, '1.5 kB'],
    [44_100_000, '44.1 MB'],
  ])('writes %d bytes as %s', (number, text) => expect(bytes(number)).toBe(text));

  it('shortens derived ids and leaves others alone', () => {
    expect(shortId(`ses_${'0123456789abcdef'.repeat(2)}`)).toBe('ses_0123456789ab');
    expect(shortId('g-3f9c')).toBe('g-3f9c');
  });

  it('counts in singular and plural', () => {
    expect(count(1, 'task')).toBe('1 task');
    expect(count(2, 'process', 'processes')).toBe('2 processes');
  });

  it('cuts without falling inside a character', () => {
    expect(oneLine(' a\n b  c ', 10)).toBe('a b c');
    expect(oneLine('😀😀😀', 2)).toBe('😀…');
    expect(cut('  abcdef', 5)).toBe('  ab…');
  });
});
