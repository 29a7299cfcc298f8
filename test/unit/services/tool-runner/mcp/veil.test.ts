import { describe, expect, it } from 'vitest';
import { Veil } from '../../../../../services/tool-runner/mcp/veil.ts';

describe('the veil over the words of a server', () => {
  it('puts the name of a variable where its value stood', () => {
    const veil = new Veil([['API_TOKEN', 'abc$&123']]);
    expect(veil.cover('login with abc$&123, abc$&123')).toBe('login with [API_TOKEN], [API_TOKEN]');
  });

  it('finds a value inside JSON too', () => {
    const veil = new Veil([['DB_PASSWORD', 'a"b\\c"d']]);
    expect(veil.cover(JSON.stringify({ used: 'a"b\\c"d' }))).toBe('{"used":"[DB_PASSWORD]"}');
  });

  it('leaves plain settings and short values alone', () => {
    const veil = new Veil([
      ['NODE_ENV', 'production'],
      ['AUTH', 'true'],
    ]);
    expect(veil.cover('true in production')).toBe('true in production');
  });
});
