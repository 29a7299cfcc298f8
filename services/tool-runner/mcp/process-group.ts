/**
 * A server process with all that it starts. On POSIX it leads a process group of its own, so that
 * its children end with it and a Ctrl-C of the terminal does not reach it before the calls were
 * ended.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Launch } from './launch.ts';

const hasGroups = process.platform !== 'win32';
/** For a server to end by itself once its input has ended, and again once it was told to. */
const patienceMs = 700;

/** Spawns it. Resolves when it runs; rejects with the system's error when it cannot be started. */
export async function startGroup(launch: Launch): Promise<ChildProcessWithoutNullStreams> {
  const child = spawn(launch.command, [...launch.args], {
    cwd: launch.cwd,
    env: launch.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: hasGroups,
    windowsHide: true,
  });
  child.once('exit', () => {
    // What the leader leaves behind when it ends is nobody's any more.
    signalGroup(child, 'SIGKILL');
    // Whoever left the group may hold the pipes open, and then nobody would hear of the end.
    setTimeout(() => {
      child.stdout.destroy();
      child.stderr.destroy();
    }, patienceMs).unref();
  });
  await once(child, 'spawn');
  return child;
}

/**
 * Ends the group: by the end of input, then by asking, then by force. Resolves when the leader is
 * gone.
 */
export async function endGroup(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.stdin.end();
  if (await isOver(ended)) return;
  signalGroup(child, 'SIGTERM');
  if (await isOver(ended)) return;
  signalGroup(child, 'SIGKILL');
  await ended;
}

function hasEnded(child: ChildProcessWithoutNullStreams): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function isOver(ended: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController();
  const patience = sleep(patienceMs, false, { signal: waiting.signal }).catch(() => false);
  const over = await Promise.race([ended.then(() => true), patience]);
  waiting.abort();
  return over;
}

function signalGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (hasGroups) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch (error) {
    // Nobody is left in the group, which is what was wanted; macOS says it of the dead by EPERM.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
