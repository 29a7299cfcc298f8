import { expect, test } from 'vitest';
import { derivedTracer } from '../../../../../services/chassis/telemetry/tracer.ts';

const at = (parent: string, seed: string) => ({ parent, seed, attributes: () => ({}) });
const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

test('a step stays in the trace of its parent, with a place of its own', () => {
  const step = derivedTracer.step('decide', at(parent, 'trn_1'));
  expect(step).toMatch(/^00-a{32}-[0-9a-f]{16}-01$/);
  expect(step).not.toBe(parent);
  expect(derivedTracer.step('decide', at(parent, 'trn_2'))).not.toBe(step);
});

test('a step without a parent begins a trace, the same one for the same record', () => {
  const first = derivedTracer.step('goal received', at('', 'inp_1'));
  expect(first).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(derivedTracer.begin('goal received', at('', 'inp_1')).traceparent).toBe(first);
  expect(derivedTracer.step('goal received', at('not a context', 'inp_1'))).toBe(first);
});
