import { describe, expect, it } from 'vitest';
import { readHostLog } from '../../../../../services/console/cli/host-log.ts';

const line = (value: object): string => `${JSON.stringify(value)}\n`;

describe('the log of a host', () => {
  it('says ready only for the process that is asked about', () => {
    const text = line({ event: 'ready', host: 'host-7', pid: 7 });
    expect(readHostLog(text, 7).ready).toBe(true);
    expect(readHostLog(text, 8).ready).toBe(false);
  });

  it('says why the host ended', () => {
    const text = line({
      level: 60,
      msg: 'host ends',
      error: 'no',
      code: 'CONFIG_INVALID',
      fix: 'do',
    });
    expect(readHostLog(text, 1).fatal).toEqual({
      code: 'CONFIG_INVALID',
      message: 'no',
      fix: 'do',
    });
  });

  it('keeps the newest thing that it waits for', () => {
    const text =
      line({ msg: 'waiting for the broker at a:1', error: 'refused' }) +
      line({ msg: 'waiting for the schema registry', error: 'away' });
    expect(readHostLog(text, 1).waiting).toBe('waiting for the schema registry: away');
  });

  it('passes over text and half a line', () => {
    const text = `Warning: something\n{"event":"rea`;
    expect(readHostLog(text, 1)).toEqual({ ready: false, fatal: undefined, waiting: undefined });
  });
});
