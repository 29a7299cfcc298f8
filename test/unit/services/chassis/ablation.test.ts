import { afterEach, describe, expect, test } from 'vitest';
import { ablated, rulesNamed, takeAway } from '../../../../services/chassis/ablation.ts';
import { readRuntimeConfig } from '../../../../services/chassis/config/runtime-config.ts';

const environment = {
  LONGREIN_BROKERS: 'broker:9092',
  LONGREIN_REGISTRY_URL: 'http://registry:8080',
};

describe('rules that are taken away', () => {
  afterEach(() => takeAway([]));

  test('none is missing unless somebody asks for it', () => {
    expect(readRuntimeConfig(environment).ablate).toEqual([]);
    expect(ablated('9a')).toBe(false);
  });

  test('a rule is missing until others are taken away instead', () => {
    takeAway(['9a']);
    expect([ablated('9a'), ablated('9b')]).toEqual([true, false]);
    takeAway(['9b']);
    expect([ablated('9a'), ablated('9b')]).toEqual([false, true]);
  });

  test('a number means all of a rule, and no other rule', () => {
    expect(rulesNamed(['2', '15'])).toEqual(['2a', '2b', '2c', '2d', '15a']);
    expect(rulesNamed(['1'])).toEqual(['1a', '1b', '1c']);
  });

  test('a name that means nothing is refused with the names that do', () => {
    const read = () => readRuntimeConfig({ ...environment, LONGREIN_ABLATE: '9a,16' });
    expect(read).toThrow('no rule "16" can be taken away');
    expect(read).toThrow(expect.objectContaining({ fix: expect.stringContaining('9a, 9b') }));
  });
});
