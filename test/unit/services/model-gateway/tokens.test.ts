import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeEach, expect, test } from 'vitest';
import type { ModelTokens } from '../../../../schemas/tokens.ts';
import { tokensTopic } from '../../../../schemas/topics.ts';
import { packageRoot } from '../../../../services/chassis/config/package-root.ts';
import type { ContentKeys } from '../../../../services/chassis/content/content-keys.ts';
import { MemoryCluster } from '../../../../services/chassis/log/memory/memory-cluster.ts';
import type { LogPort } from '../../../../services/chassis/log/port.ts';
import { createScriptedProvider } from '../../../../services/model-gateway/providers/scripted.ts';
import { parseScriptedRules } from '../../../../services/model-gateway/providers/scripted-rules.ts';
import { TokenChannel } from '../../../../services/model-gateway/tokens.ts';
import { completedOf, requestOf, testNowMs } from '../../../support/model-requests.ts';
import { keepingLogger } from '../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const piece = {
  ...{ session: 'ses_1', call: 'call_1', agent: 'w.1', task: 'w' },
  ...{ model: 'a/m', claim: 1, try: 1 },
};
let clock: VirtualClock;
let cluster: MemoryCluster;
let log: LogPort;
let logger: ReturnType<typeof keepingLogger>;
let channel: TokenChannel;

beforeEach(async () => {
  clock = new VirtualClock();
  cluster = new MemoryCluster({ scheduler: clock, nowMs: () => clock.nowMs() });
  log = cluster.connect('gateway');
  const made = log.ensureTopics([{ name: tokensTopic, partitions: 1, config: {} }]);
  await clock.run(1_000);
  await made;
  logger = keepingLogger();
  channel = new TokenChannel({ log, clock, logger });
});

const written = (): ModelTokens[] =>
  cluster
    .records({ topic: tokensTopic, partition: 0 })
    .map(({ value }) => JSON.parse(Buffer.from(value ?? []).toString()) as ModelTokens);

test('what comes within a moment is one piece, and says where it stands in the answer', async () => {
  const tell = channel.listener(piece);
  tell('Two ');
  tell('');
  tell('words');
  await clock.run(500);
  tell(', and more.');
  await clock.run(500);
  expect(written()).toEqual([
    { ...piece, at: 0, text: 'Two words' },
    { ...piece, at: 9, text: ', and more.' },
  ]);
  const schema = JSON.parse(
    readFileSync(join(packageRoot, 'schemas/public/tokens.v1.json'), 'utf8'),
  );
  const validate = new Ajv2020({ strict: false }).compile(schema);
  for (const one of written()) expect(validate(one), JSON.stringify(validate.errors)).toBe(true);
  expect(cluster.records({ topic: tokensTopic, partition: 0 })[0]?.key).toBe('ses_1');
});

test('what cannot be written is dropped, said once, and shows in the place of the next piece', async () => {
  const append = () => Promise.reject(new Error('no broker'));
  const deaf = { append, bounds: (topic: string) => log.bounds(topic) } as unknown as LogPort;
  const through: { log: LogPort } = { log: deaf };
  const ports = {
    clock,
    logger,
    get log() {
      return through.log;
    },
  };
  const tell = new TokenChannel(ports).listener(piece);
  for (const text of ['Lost. ', 'Lost too. ']) {
    tell(text);
    await clock.run(500);
  }
  through.log = log;
  tell('Heard.');
  await clock.run(500);
  expect(written()).toEqual([{ ...piece, at: 16, text: 'Heard.' }]);
  expect(logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test('where the broker is away for long, what waits has a bound', async () => {
  const tell = channel.listener(piece);
  tell('x'.repeat(16_000));
  tell('y'.repeat(1_000));
  await clock.run(500);
  expect(written()).toEqual([{ ...piece, at: 16_000, text: 'y'.repeat(1_000) }]);
});

test('a scripted model says its answer word by word', async () => {
  const rules = parseScriptedRules(
    '- { model: demo, answer: \'"One two  three."\', delayMs: 6 }',
    'f',
  );
  const provider = createScriptedProvider({ rules, file: 'f', nowMs: () => testNowMs });
  const told: string[] = [];
  const onText = (text: string): void => {
    told.push(text);
  };
  const outcome = await provider.complete(requestOf({ model: 'scripted/demo', onText }));
  expect(told).toEqual(['One', ' two', '  three.']);
  expect(completedOf(outcome).message.text).toBe(told.join(''));
});

test('nobody is told what a sealed session says: the topic stands open', async () => {
  const keys = { isSealed: (log: string) => log === 'ses_1' } as unknown as ContentKeys;
  const sealed = new TokenChannel({ log, clock, logger, keys });
  sealed.listener(piece)('not for everybody');
  sealed.listener({ ...piece, session: 'ses_2' })('for whoever follows');
  await clock.run(500);
  expect(written().map(({ session, text }) => [session, text])).toEqual([
    ['ses_2', 'for whoever follows'],
  ]);
});
