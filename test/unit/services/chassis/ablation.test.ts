import { afterEach, describe, expect, test } from 'vitest';
import { ablated, rulesNamed, takeAway } from '../../../../services/chassis/ablation.ts';
import { readRuntimeConfig } from '../../../../services/chassis/config/runtime-config.ts';
import { KafkaAppender } from '../../../../services/chassis/log/kafka/append.ts';
import type { KafkaConnections } from '../../../../services/chassis/log/kafka/client.ts';

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
    expect(rulesNamed(['1'])).toEqual(['1a', '1b', '1c', '1d']);
  });

  test('a name that means nothing is refused with the names that do', () => {
    const read = () => readRuntimeConfig({ ...environment, LONGREIN_ABLATE: '9a,16' });
    expect(read).toThrow('no rule "16" can be taken away');
    expect(read).toThrow(expect.objectContaining({ fix: expect.stringContaining('9a, 9b') }));
  });
});

describe('a broker that leaves a partition out of its answer', () => {
  const connections = {
    leaderOf: async () => 1,
    use: async () => ({ topics: [] }),
    forget: () => undefined,
  } as unknown as KafkaConnections;
  const partition = { topic: 'sessions', partition: 3 };
  const append = () =>
    new KafkaAppender(connections).append(partition, [{ key: 'a', headers: {}, value: null }]);
  afterEach(() => takeAway([]));

  test('has not acknowledged it', async () => {
    await expect(append()).rejects.toMatchObject({ failure: 'uncertain' });
  });

  test('is believed where rule 15 is taken away: the record is lost and nobody knows', async () => {
    takeAway(rulesNamed(['15']));
    await expect(append()).resolves.toEqual({ baseOffset: -1 });
  });
});
