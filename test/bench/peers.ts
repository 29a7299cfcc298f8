import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import { loopRound, type Round } from './agent-loop.ts';
import { print } from './figures.ts';

/**
 * Other runtimes at the same work, in the same run: one of our rounds, one of theirs, one of ours, and so on, because on a
 * machine that others share only ratios of one run mean anything. They are programs of their own, in a folder with one
 * for each: `bench.mjs`, which prints one line of JSON with `step_p50_ms` and `steps_per_s_50`, and what it needs installed.
 */

type Peer = Readonly<{
  name: string;
  /** What must be there, from its folder. */
  needs: string;
  /** Its server, from its folder; it runs until it is stopped. */
  server?: string;
  healthUrl?: string;
  /** The database that it needs in the PostgreSQL of the folder `pg`. */
  database?: string;
  env?: Readonly<Record<string, string>>;
}>;

const peers: readonly Peer[] = [
  {
    ...{ name: 'restate', needs: 'node_modules/@restatedev/restate-server', server: './start.sh' },
    ...{ healthUrl: 'http://127.0.0.1:9070/health', env: { RESTATE_LOGGING: 'ERROR' } },
  },
  { name: 'dbos', needs: 'node_modules/@dbos-inc/dbos-sdk', database: 'dbos' },
  {
    ...{ name: 'langgraph', needs: 'node_modules/@langchain/langgraph', database: 'langgraph' },
    env: { DURABILITY: 'sync' },
  },
];

/** The line that a peer's bench prints last. */
type Measured = Readonly<{ step_p50_ms: number; step_p95_ms: number; steps_per_s_50: number }>;

const startedWithinMs = 30_000;

/** Runs a program to its end; answers what it wrote to standard output. */
function run(dir: string, command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [program = '', ...args] = command;
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const child = spawn(program, args, {
    ...{ cwd: dir, env: { ...process.env, ...env }, stdio: [...stdio] },
  });
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  return new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(text);
      else reject(new Error(`${command.join(' ')} in ${dir} ended with ${code}`));
    });
  });
}

async function untilHealthy(url: string, server: ChildProcess): Promise<void> {
  const endMs = performance.now() + startedWithinMs;
  for (;;) {
    const well = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (well) return;
    if (performance.now() > endMs || server.exitCode !== null)
      throw new Error(`nobody answers at ${url}: see what its server wrote above`);
    await sleep(100);
  }
}

/** Starts what the peer needs beside it. Answers what stops that. */
async function backing(dir: string, peer: Peer): Promise<() => Promise<void>> {
  const postgres = join(dir, 'pg');
  if (peer.database !== undefined) {
    await run(postgres, ['bash', './start.sh']);
    const psql = ['psql', '-h', '127.0.0.1', '-p', '55432', '-U', 'postgres', '-c'];
    await run(postgres, [...psql, `drop database if exists ${peer.database}`]);
    await run(postgres, [...psql, `create database ${peer.database}`]);
    return async () => void (await run(postgres, ['bash', './stop.sh']));
  }
  if (peer.server === undefined) return async () => undefined;
  const stdio = ['ignore', 'inherit', 'inherit'] as const;
  const server = spawn('bash', [peer.server], { cwd: join(dir, peer.name), stdio: [...stdio] });
  const ended = new Promise<void>((resolve) => {
    server.once('exit', () => resolve());
  });
  const stop = async (): Promise<void> => {
    server.kill('SIGTERM');
    await ended;
  };
  await untilHealthy(peer.healthUrl ?? '', server).catch(async (thrown: unknown) => {
    await stop();
    throw thrown;
  });
  return stop;
}

async function roundOf(dir: string, peer: Peer): Promise<Measured> {
  const stop = await backing(dir, peer);
  try {
    const text = await run(join(dir, peer.name), [process.execPath, 'bench.mjs'], {
      ...peer.env,
      SEQ: '40',
      MAXS: '10',
    });
    return JSON.parse(text.trim().split('\n').at(-1) ?? '') as Measured;
  } finally {
    await stop();
  }
}

/** The peers whose programs lie there. Throws where there are none, and says what to do. */
export function requirePeers(dir: string): readonly Peer[] {
  const found = peers.filter(({ name, needs }) => existsSync(join(dir, name, needs)));
  if (found.length > 0) return found;
  const where = dir === '' ? 'nobody said where the other runtimes are' : `none is in ${dir}`;
  throw new LongreinError(
    'PEERS_MISSING',
    `${where}: ${peers.map(({ name }) => name).join(', ')}`,
    {
      fix: 'name a folder with one for each, `npm install` done in it: LONGREIN_PEERS_DIR=DIR npm run bench -- peers',
    },
  );
}

const half = (one: number, other: number): number => (one + other) / 2;

/** Our figures against theirs: ours is the middle of the rounds before and after. */
function tell({ name }: Peer, theirs: Measured, [before, after]: readonly [Round, Round]): void {
  const msPerCallP50 = half(before.msPerCallP50, after.msPerCallP50);
  const callsPerSecond = half(before.callsPerSecond, after.callsPerSecond);
  const { step_p50_ms: peerMs, steps_per_s_50: peerPerSecond } = theirs;
  print({
    ...{ bench: 'peer', peer: name, peerMs, peerPerSecond, msPerCallP50, callsPerSecond },
    ...{ timesItsMs: msPerCallP50 / peerMs, timesItsCalls: callsPerSecond / peerPerSecond },
  });
}

/** Rounds of ours and of each peer by turns. `dir`: where the peers are. */
export async function besidePeers(config: RuntimeConfig, dir: string): Promise<void> {
  const found = requirePeers(dir);
  let before = await loopRound(config);
  for (const peer of found) {
    const theirs = await roundOf(dir, peer);
    const after = await loopRound(config);
    tell(peer, theirs, [before, after]);
    before = after;
  }
}
