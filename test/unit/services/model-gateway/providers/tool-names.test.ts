import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../../../../../services/model-gateway/providers/redaction.ts';
import { mapToolNames } from '../../../../../services/model-gateway/providers/tool-names.ts';
import { requestOf } from '../../../../support/model-requests.ts';

describe('tool names on the wire', () => {
  const toolOf = (name: string) => ({ name, description: '', inputSchema: {} });

  it('are allowed everywhere, differ, and lead back to the tool', () => {
    const name = fc.string({ minLength: 1, maxLength: 90, unit: 'grapheme' });
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 12 }), (all) => {
        const names = mapToolNames(requestOf({ tools: all.map(toolOf) }));
        const wires = all.map((each) => names.toWire(each));
        expect(new Set(wires).size).toBe(all.length);
        expect(wires.every((wire) => /^[a-zA-Z0-9_-]{1,64}$/.test(wire))).toBe(true);
        expect(wires.map((wire) => names.fromWire(wire))).toEqual(all);
      }),
    );
  });

  it('stay as they are where they can, whatever is offered before them', () => {
    const names = mapToolNames(requestOf({ tools: [toolOf('a.b'), toolOf('a_b')] }));
    expect([names.toWire('a_b'), names.toWire('a.b')]).toEqual(['a_b', 'a_b_2']);
  });
});

describe('redaction', () => {
  it('takes out keys, their beginnings and anything that looks like one', () => {
    const text = 'key abc$def-0123456789, again abc$de***789; other sk-live-123456 stays out';
    expect(redact(text, ['abc$def-0123456789', ''])).toBe(
      'key [redacted], again [redacted]; other [redacted] stays out',
    );
  });

  it('keeps texts short', () => {
    expect(redact('x'.repeat(900), [])).toHaveLength(501);
  });
});
