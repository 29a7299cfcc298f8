import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureArtifacts } from '../../../deploy/local/artifacts.ts';
import { readSettings } from '../../../deploy/local/config.ts';
import { containerLabel } from '../../../deploy/local/container.ts';
import { doctor } from '../../../deploy/local/doctor.ts';
import { findJava } from '../../../deploy/local/java.ts';
import { markOf } from '../../../deploy/local/process-mark.ts';
import type { ProcessRecord } from '../../../deploy/local/processes.ts';
import { silent } from '../../../deploy/local/report.ts';
import { down, status, up } from '../../../deploy/local/stack.ts';
import { readStack, StackBook, type StackFile } from '../../../deploy/local/stack-file.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

// Broker and registry are real, and so is all that Longrein does to run them in containers. Only the engine behind
// the docker client is a stand-in that runs the Java of this machine.
const image = 'jre:test';
const stateDir = join(mkdtempSync(join(tmpdir(), 'longrein-docker-java-')), 'state');
const given = { LONGREIN_BROKERS: '', LONGREIN_REGISTRY_URL: '', LONGREIN_CLICKHOUSE_URL: '' };
const outside = readSettings({ ...process.env, ...given, LONGREIN_STATE_DIR: stateDir });
const engine = new FakeEngine({});
const settings = readSettings({
  ...given,
  ...engine.environment,
  LONGREIN_STATE_DIR: stateDir,
  LONGREIN_CACHE_DIR: outside.cacheDir,
  LONGREIN_JAVA: 'docker',
  LONGREIN_JAVA_IMAGE: image,
});
const options = { settings, clickhouse: false } as const;
const topic = 'docker.test';
let stack: StackFile;

function processOf(name: string): ProcessRecord {
  const record = stack.processes.find((process) => process.name === name);
  if (record === undefined) throw new Error(`${name} is not recorded`);
  return record;
}

/** The JVM that stands for the container of a service. */
function jvmOf(name: string): number {
  const pid = engine.running().get(containerLabel(stateDir, name));
  if (pid === undefined) throw new Error(`no container of ${name} runs`);
  return pid;
}

async function withAdmin<T>(work: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
  const options = { clientId: 'docker-test', brokers: [...stack.brokers] };
  const admin = new Kafka({ ...options, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

function topics(): Promise<string[]> {
  return withAdmin((admin) => admin.listTopics());
}

async function killClient(name: string): Promise<void> {
  const { pid } = processOf(name);
  process.kill(pid, 'SIGKILL');
  while ((await markOf(pid)) !== undefined) await sleep(20);
}

/** A `java` on the PATH of this process does not say where it is. */
function absolute(command: string): string {
  const dirs = (process.env.PATH ?? '').split(delimiter).map((dir) => join(dir, command));
  const found = command.includes('/') ? command : dirs.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${command} is not on the PATH: install Java 17`);
  return found;
}

beforeAll(async () => {
  await ensureArtifacts(outside, silent);
  const { command } = await findJava({ ...outside, javaChoice: 'auto' }, silent);
  engine.add(image, { id: 'sha256:1', java: absolute(command) });
  stack = await up(options, silent);
  await withAdmin((admin) => admin.createTopics({ topics: [{ topic }], waitForLeaders: true }));
}, 600_000);

afterAll(async () => {
  await down({ settings, wipe: true }, silent);
}, 120_000);

describe('a stack whose Java runs in containers', () => {
  it('is recorded with its containers and found healthy', async () => {
    for (const name of ['broker', 'registry']) {
      expect(processOf(name).container).toMatchObject({
        id: expect.stringMatching(/^[0-9a-f]{64}$/),
        name: containerLabel(stateDir, name),
      });
    }
    const seen = await status({ settings });
    expect(seen.brokers?.ok && seen.registry?.ok).toBe(true);
    const checks = await doctor({ settings });
    expect(checks.filter((check) => !check.ok)).toEqual([]);
    expect(checks.find(({ name }) => name === 'java')?.detail).toContain(`Docker image ${image}`);
  });

  it('formats without a network and gives each JVM a place of its own', () => {
    const runs = engine.calls().filter(([verb]) => verb === 'run');
    const format = runs.find((args) => args.includes('kafka.tools.StorageTool'));
    expect(format?.join(' ')).toContain('--network none');
    const broker = runs.find((args) => args.includes('kafka.Kafka'))?.join(' ');
    expect(broker).toContain('--network host');
    expect(broker).toContain(`"source=${join(stateDir, 'kafka')}"`);
    expect(broker).toContain(
      `"source=${settings.cacheDir}","target=${settings.cacheDir}",readonly`,
    );
    expect(broker).not.toContain(join(stateDir, 'registry'));
  });

  it('goes on, and is kept, when the client of a container is killed', async () => {
    const jvm = jvmOf('broker');
    await killClient('broker');
    expect((await status({ settings })).processes.every((one) => one.alive)).toBe(true);
    expect(await up(options, silent)).toEqual(stack);
    expect(jvmOf('broker')).toBe(jvm);
    expect((await doctor({ settings })).filter((check) => !check.ok)).toEqual([]);
  });

  it('is stopped by down, without its client too, and comes back with its data', async () => {
    const jvms = [jvmOf('broker'), jvmOf('registry')];
    const { stopped } = await down({ settings }, silent);
    expect([...stopped].sort()).toEqual(['broker', 'registry']);
    for (const pid of jvms) expect(await markOf(pid)).toBeUndefined();
    expect(engine.running().size).toBe(0);
    stack = await up(options, silent);
    expect(await topics()).toContain(topic);
  });

  it('is stopped by down even where the command that started it could not record it', async () => {
    const jvm = jvmOf('broker');
    const book = await StackBook.open(stateDir);
    await book.drop('broker');
    const unrecorded = await doctor({ settings });
    expect(unrecorded.some(({ name, ok }) => name === 'leftovers' && !ok)).toBe(
      process.platform === 'linux',
    );
    const { stopped } = await down({ settings }, silent);
    expect([...stopped].sort()).toEqual(['broker', 'registry']);
    expect(await markOf(jvm)).toBeUndefined();
    expect(await readStack(stateDir)).toBeUndefined();
  });
}, 180_000);
