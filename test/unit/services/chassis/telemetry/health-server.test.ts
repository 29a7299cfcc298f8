import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { HostHealth } from '../../../../../services/chassis/host/health.ts';
import { Figures } from '../../../../../services/chassis/telemetry/figures.ts';
import {
  type HealthServer,
  healthNotePath,
  startHealthServer,
} from '../../../../../services/chassis/telemetry/health-server.ts';
import { MemoryWorld } from '../../../../support/memory-world.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'longrein-health-'));
const servers: HealthServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

async function listening(health: HostHealth, port: number | 'auto' = 'auto') {
  const { meter } = new Figures();
  const address = { host: '127.0.0.1', port } as const;
  const server = await startHealthServer({ address, stateDir, meter, health: () => health.now() });
  servers.push(server);
  return server;
}

const built = { hosted: { logic: { name: 'planner' } } } as never;

test('it lives at once, is not ready with the reason in words, and is ready when its host is', async () => {
  const health = new HostHealth({ host: 'h', release: '1' });
  const { url } = await listening(health);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  health.waitsFor('the broker at 127.0.0.1:9');
  const waiting = await fetch(`${url}/readyz`);
  expect(waiting.status).toBe(503);
  expect(await waiting.json()).toMatchObject({
    ...{ ready: false, host: 'h', release: '1' },
    reasons: ['waiting for the broker at 127.0.0.1:9'],
  });
  let unready = ['longrein.sessions.normal/1 is being read, and is at 4'];
  const status = () => ({ partitions: [], halted: {} });
  const host = { unready: () => unready, status };
  health.runs(host, [built]);
  expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
    ...{ reasons: unready, serviceReady: { planner: false } },
  });
  unready = [];
  const ready = await fetch(`${url}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({ ready: true, services: ['planner'], reasons: [] });
  expect(health.now().serviceReady).toEqual({ planner: true });
  health.stops();
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
});

test('a service that is not ready makes the process not ready', () => {
  const health = new HostHealth({ host: 'h', release: '1' });
  const companion = {
    ...{ start: async () => undefined, stop: async () => undefined },
    health: () => ({ reasons: ['ClickHouse is not ready: away'], notes: ['12 rows wait'] }),
  };
  const status = () => ({ partitions: [], halted: {} });
  const host = { unready: () => [], status };
  const other = { hosted: { logic: { name: 'supervisor' } } } as never;
  health.runs(host, [{ ...(built as object), companion } as never, other]);
  expect(health.now()).toMatchObject({
    serviceReady: { planner: false, supervisor: true },
    ...{ ready: false, reasons: ['ClickHouse is not ready: away'], notes: ['12 rows wait'] },
  });
});

test('a service that is owned is ready while another one of the process is not', () => {
  const health = new HostHealth({ host: 'h', release: '1' });
  const waits = ['longrein.sessions.normal/1 is read, and not owned yet'];
  const unready = (service?: string) => (service === 'supervisor' ? [] : waits);
  const other = { hosted: { logic: { name: 'supervisor' } } } as never;
  health.runs({ unready, status: () => ({ partitions: [], halted: {} }) }, [built, other]);
  expect(health.now()).toMatchObject({
    ...{ ready: false, serviceReady: { planner: false, supervisor: true } },
  });
});

test('figures are there, other paths and methods are refused with what to ask for', async () => {
  const { url } = await listening(new HostHealth({ host: 'h', release: '1' }));
  const answer = await fetch(`${url}/metrics`);
  expect(answer.headers.get('content-type')).toContain('version=0.0.4');
  expect(await answer.text()).toMatch(/^process_memory_usage_bytes [1-9]\d+$/m);
  const lost = await fetch(`${url}/other`);
  expect([lost.status, await lost.text()]).toEqual([404, expect.stringContaining('/readyz')]);
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
});

test('its address is in the state directory as long as it listens', async () => {
  const server = await listening(new HostHealth({ host: 'h', release: '1' }));
  const note = healthNotePath(stateDir, process.pid);
  expect(JSON.parse(readFileSync(note, 'utf8'))).toEqual({ url: server.url });
  await server.stop();
  servers.length = 0;
  expect(existsSync(note)).toBe(false);
});

test('a port that is taken is told with what to do', async () => {
  const health = new HostHealth({ host: 'h', release: '1' });
  const { url } = await listening(health);
  const port = Number(new URL(url).port);
  await expect(listening(health, port)).rejects.toMatchObject({
    code: 'HEALTH_ADDRESS',
    fix: expect.stringContaining('auto') as string,
  });
});

test('every service of a host that is up is ready, whichever topics it works in', async () => {
  const world = await MemoryWorld.start();
  const [one] = world.hosts;
  if (one === undefined) throw new Error('no host');
  const health = new HostHealth({ host: 'h', release: '1' });
  const names = ['planner', 'intake', 'supervisor', 'model-gateway'];
  health.runs(
    one.host,
    names.map((name) => ({ hosted: { logic: { name } } }) as never),
  );
  expect(health.now().serviceReady).toEqual(Object.fromEntries(names.map((name) => [name, true])));
  expect(one.host.unready('supervisor')).toEqual([]);
});
