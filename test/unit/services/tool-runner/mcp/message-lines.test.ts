import { describe, expect, it } from 'vitest';
import { answeredBy, MessageLines } from '../../../../../services/tool-runner/mcp/message-lines.ts';

const text = (value: string) => ({ kind: 'text', text: value });

describe('lines of a server', () => {
  it('are put together from chunks cut anywhere, also inside a character', () => {
    const bytes = Buffer.from('eins\nzwölf\n\nrest');
    for (let size = 1; size <= bytes.length; size += 1) {
      const lines = new MessageLines(100);
      const seen = [];
      for (let at = 0; at < bytes.length; at += size) {
        seen.push(...lines.push(bytes.subarray(at, at + size)));
      }
      expect(seen).toEqual([text('eins'), text('zwölf'), text('')]);
    }
  });

  it('keep only the ends of a line that is too long, and go on after it', () => {
    const lines = new MessageLines(1_000);
    const seen = [];
    seen.push(...lines.push(Buffer.from(`{"head":1,"x":"${'a'.repeat(5_000)}`)));
    for (let count = 0; count < 100; count += 1) {
      seen.push(...lines.push(Buffer.from('b'.repeat(10_000))));
    }
    seen.push(...lines.push(Buffer.from('","id":5}\nnext\n')));
    const [long, next] = seen;
    expect(long).toMatchObject({ kind: 'oversize', bytes: 15 + 5_000 + 1_000_000 + 9 });
    if (long?.kind !== 'oversize') throw new Error('not oversize');
    expect(long.head.startsWith('{"head":1,"x":"aaa')).toBe(true);
    expect(long.tail.endsWith('bbb","id":5}')).toBe(true);
    expect(long.head.length + long.tail.length).toBeLessThan(1_000);
    expect(next).toEqual(text('next'));
  });

  it('of exactly the greatest length are whole', () => {
    const lines = new MessageLines(4);
    expect(lines.push(Buffer.from('1234\n12345\n'))).toEqual([
      text('1234'),
      { kind: 'oversize', bytes: 5, head: '12345', tail: '12345' },
    ]);
  });
});

describe('whom an oversize answer is for', () => {
  it('is told by its first members or by its last', () => {
    expect(answeredBy('{"jsonrpc":"2.0","id":12,"result":{', 'aaaa"}}')).toBe(12);
    expect(answeredBy('{ "id": 3, "jsonrpc": "2.0", "result"', 'aaaa"}}')).toBe(3);
    expect(answeredBy('{"result":{"content":[', 'aaa"}]},"jsonrpc":"2.0","id":7}')).toBe(7);
  });

  it('is not taken from an id inside the result', () => {
    expect(answeredBy('{"result":{"id":4,"x":"aaa', 'aaaa","id":9}}')).toBeUndefined();
    expect(answeredBy('{"method":"notifications/message"', 'aaaa"}}')).toBeUndefined();
  });
});
