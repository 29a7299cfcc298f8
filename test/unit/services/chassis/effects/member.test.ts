import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Members,
  memberOf,
  withMember,
  withoutMember,
} from '../../../../../services/chassis/effects/member.ts';

const names = fc.constantFrom('a', 'b', '7', 'constructor', '__proto__', 'toString');

describe('members by names from outside', () => {
  it('are those of plain JSON, in the same order, whatever they are called', () => {
    const steps = fc.array(fc.tuple(names, fc.option(fc.integer())));
    fc.assert(
      fc.property(steps, (all) => {
        const known = new Map<string, number>();
        let members: Members<number> = {};
        for (const [name, value] of all) {
          if (value === null) known.delete(name);
          else known.set(name, value);
          const before = JSON.stringify(members);
          const next =
            value === null ? withoutMember(members, name) : withMember(members, name, value);
          expect(JSON.stringify(members)).toBe(before);
          members = next;
        }
        expect(members).toStrictEqual(Object.fromEntries(known));
        expect(JSON.stringify(members)).toBe(JSON.stringify(Object.fromEntries(known)));
        for (const name of ['a', 'constructor', '__proto__'])
          expect(memberOf(members, name)).toBe(known.get(name));
        expect(structuredClone(members)).toStrictEqual(Object.fromEntries(known));
      }),
    );
  });

  it('stay the same object where there is nothing to take away', () => {
    const members = withMember({}, 'a', 1);
    expect(withoutMember(members, 'b')).toBe(members);
  });
});
