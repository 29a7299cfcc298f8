import { describe, expect, it } from 'vitest';
import { markOf, parseStat } from '../../../../deploy/local/process-mark.ts';

describe('parseStat', () => {
  it('reads state and start time', () => {
    const rest = Array.from({ length: 30 }, (_value, index) => String(index + 4)).join(' ');
    expect(parseStat(`77 (node) S ${rest}`)).toEqual({ state: 'S', startTicks: '22' });
  });

  it('is not misled by a command name with spaces and parentheses', () => {
    const rest = Array.from({ length: 30 }, (_value, index) => String(index + 4)).join(' ');
    expect(parseStat(`77 (a) Z (b) R ${rest}`)).toEqual({ state: 'R', startTicks: '22' });
  });

  it('finds nothing in a text that was cut', () => {
    expect(parseStat('77 (node) S 1 2')).toBeUndefined();
  });
});

describe('markOf', () => {
  it('is the same each time for one process and differs from that of another', async () => {
    const own = await markOf(process.pid);
    expect(own).toBeTruthy();
    expect(await markOf(process.pid)).toBe(own);
    expect(await markOf(process.ppid)).not.toBe(own);
  });

  it('is undefined where no process is', async () => {
    expect(await markOf(2 ** 22 + 1)).toBeUndefined();
  });
});
