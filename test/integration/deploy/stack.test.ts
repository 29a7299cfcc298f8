import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../../deploy/local/config.ts';
import { doctor } from '../../../deploy/local/doctor.ts';
import { freePorts } from '../../../deploy/local/ports.ts';
import { isAlive, type ProcessRecord } from '../../../deploy/local/processes.ts';
import { type StackEvent, silent } from '../../../deploy/local/report.ts';
import { down, startRecorded, status, up } from '../../../deploy/local/stack.ts';
import { readStack, type StackFile } from '../../../deploy/local/stack-file.ts';

// The broker and the registry of this test are real. On an empty cache the first start downloads
// 150 MB.
const parent = mkdtempSync(join(tmpdir(), 'longrein-stack-'));
const stateDir = join(parent, 'state');
/** The stack of a developer who runs these tests must not be used by them. */
const withoutGiven = {
  LONGREIN_BROKERS: '',
  LONGREIN_REGISTRY_URL: '',
  LONGREIN_CLICKHOUSE_URL: '',
};
const settings = readSettings({ ...process.env, ...withoutGiven, LONGREIN_STATE_DIR: stateDir });
const options = { settings, clickhouse: false } as const;
const topic = 'stack.test';
let stack: StackFile;
let schemaId = 0;

function processOf(file: StackFile, name: string): ProcessRecord {
  const record = file.processes.find((process) => process.name === name);
  if (record === undefined) throw new Error(`${name} is not recorded`);
  return record;
}

function kafka(): Kafka {
  return new Kafka({
    clientId: 'stack-test',
    brokers: [...stack.brokers],
    logLevel: logLevel.NOTHING,
  });
}

async function produce(value: string): Promise<void> {
  const producer = kafka().producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic, messages: [{ value }] });
  await producer.disconnect();
}

/** Reads the topic from its start until it holds this many records. */
async function consume(count: number): Promise<string[]> {
  const values: string[] = [];
  const consumer = kafka().consumer({
    groupId: `stack-test-${Math.random()}`,
    maxWaitTimeInMs: 100,
  });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: ({ message }) => {
      values.push(String(message.value));
      return Promise.resolve();
    },
  });
  while (values.length < count) await sleep(20);
  await consumer.disconnect();
  return values;
}

async function registerSchema(): Promise<number> {
  const schema = JSON.stringify({ type: 'object', properties: { goal: { type: 'string' } } });
  const response = await fetch(`${stack.registryUrl}/subjects/goal/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema, schemaType: 'JSON' }),
  });
  const answer = (await response.json()) as { id: number };
  return answer.id;
}

/**
 * A Java that prepares a directory like the real one, but whose broker and registry end after a
 * moment.
 */
function fakeJava(): string {
  const home = mkdtempSync(join(parent, 'java-'));
  const lines = [
    '#!/bin/sh',
    'case "$*" in',
    `  -version) echo 'openjdk version "99.0.1"' ;;`,
    '  *StorageTool*) mkdir data-new && touch data-new/meta.properties ;;',
    '  *) sleep 0.3; echo "the port is taken"; exit 1 ;;',
    'esac',
  ];
  mkdirSync(join(home, 'bin'));
  writeFileSync(join(home, 'bin', 'java'), `${lines.join('\n')}\n`, { mode: 0o755 });
  return home;
}

beforeAll(async () => {
  // Two at once: the second waits for the first and finds everything running.
  const [first, second] = await Promise.all([up(options, silent), up(options, silent)]);
  stack = first;
  expect(second.processes).toEqual(first.processes);
}, 600_000);

afterAll(async () => {
  await down({ settings, wipe: true }, silent);
}, 120_000);

describe('the local stack', () => {
  it('has a broker that keeps records and a registry that keeps schemas', async () => {
    const admin = kafka().admin();
    await admin.connect();
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
    await admin.disconnect();
    await produce('one');
    expect(await consume(1)).toEqual(['one']);
    schemaId = await registerSchema();
    expect(schemaId).toBeGreaterThan(0);
  });

  it('keeps what runs when it is started again', async () => {
    const again = await up(options, silent);
    expect(again).toEqual(stack);
  });

  it('is found healthy by status and doctor', async () => {
    const seen = await status({ settings });
    expect(seen.brokers).toMatchObject({ ok: true, address: stack.brokers.join() });
    expect(seen.registry).toMatchObject({ ok: true, address: stack.registryUrl });
    expect(seen.processes.map(({ name, alive }) => [name, alive])).toEqual([
      ['broker', true],
      ['registry', true],
    ]);
    const complaints = (await doctor({ settings })).filter((check) => !check.ok);
    expect(complaints).toEqual([]);
  });

  it('starts a killed broker again, with its records, and leaves the registry alone', async () => {
    const killed = processOf(stack, 'broker');
    process.kill(killed.pid, 'SIGKILL');
    while (await isAlive(killed)) await sleep(20);
    const complaints = (await doctor({ settings })).filter((check) => !check.ok);
    expect(complaints.map(({ name }) => name)).toEqual(['broker', 'process broker']);
    const before = processOf(stack, 'registry');
    stack = await up(options, silent);
    expect(processOf(stack, 'broker').pid).not.toBe(killed.pid);
    expect(processOf(stack, 'registry')).toEqual(before);
    await produce('two');
    expect(await consume(2)).toEqual(['one', 'two']);
  });

  it('stops all that it started, services too, and comes back with the data', async () => {
    const script = "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000)";
    const host = { name: 'host', command: process.execPath, args: ['-e', script], env: {} };
    const service = await startRecorded({ settings, ...host });
    expect(await startRecorded({ settings, ...host })).toEqual(service);
    const { stopped } = await down({ settings }, silent);
    expect([...stopped].sort()).toEqual(['broker', 'host', 'registry']);
    for (const record of [...stack.processes, service]) expect(await isAlive(record)).toBe(false);
    expect(await readStack(stateDir)).toBeUndefined();

    const { brokers } = stack;
    stack = await up(options, silent);
    expect(stack.brokers).toEqual(brokers);
    expect(await consume(2)).toEqual(['one', 'two']);
    expect(await registerSchema()).toBe(schemaId);
  });

  it('says within 10 s which given broker is not reachable, and starts nothing', async () => {
    const [port] = await freePorts([undefined]);
    const other = join(parent, 'other');
    const environment = { LONGREIN_STATE_DIR: other, LONGREIN_BROKERS: `127.0.0.1:${port}` };
    const given = readSettings({ ...process.env, ...withoutGiven, ...environment });
    const startMs = performance.now();
    await expect(up({ settings: given, clickhouse: false }, silent)).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining(`127.0.0.1:${port}: ECONNREFUSED`),
      fix: expect.stringContaining('LONGREIN_BROKERS'),
    });
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(existsSync(other)).toBe(false);
  });

  it('tries once more when a broker ends at once, then tells why and leaves nothing', async () => {
    const home = fakeJava();
    const other = join(parent, 'failing');
    const environment = { LONGREIN_STATE_DIR: other, LONGREIN_JAVA_HOME: home };
    const failing = readSettings({ ...process.env, ...withoutGiven, ...environment });
    const notes: string[] = [];
    const report = (event: StackEvent): void => {
      if (event.kind === 'note') notes.push(event.text);
    };
    await expect(up({ settings: failing, clickhouse: false }, report)).rejects.toMatchObject({
      code: expect.stringMatching(/PROCESS_ENDED|PROCESS_START/),
      fix: expect.stringContaining(join(other, 'logs')),
    });
    expect(notes.join()).toContain('Trying once more on other ports.');
    expect(await readStack(other)).toBeUndefined();
    expect(existsSync(join(other, 'lock'))).toBe(false);
  });

  it('removes its data when it is told to', async () => {
    await down({ settings, wipe: true }, silent);
    expect(existsSync(stateDir)).toBe(false);
  });
}, 120_000);
