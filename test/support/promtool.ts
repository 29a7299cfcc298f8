import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readSettings } from '../../deploy/local/config.ts';
import { toError } from '../../services/chassis/errors.ts';

const run = promisify(execFile);

/**
 * Prometheus' own checker of rules: the one on the PATH, else that of Debian's package `prometheus`, which is fetched once
 * and unpacked into the cache directory. Nothing is installed. Throws where neither is to be had.
 */
export async function promtool(): Promise<string> {
  if (await answers('promtool')) return 'promtool';
  const cached = join(readSettings().cacheDir, 'promtool');
  const program = join(cached, 'usr/bin/promtool');
  if (!existsSync(program)) await unpack(cached);
  return program;
}

async function answers(program: string): Promise<boolean> {
  try {
    await run(program, ['--version']);
    return true;
  } catch {
    // Not installed: that is what is asked.
    return false;
  }
}

async function unpack(target: string): Promise<void> {
  mkdirSync(join(target, '..'), { recursive: true });
  const scratch = mkdtempSync(`${target}-`);
  try {
    await download(scratch);
    const [file = ''] = readdirSync(scratch).filter((name) => name.endsWith('.deb'));
    await run('dpkg-deb', ['-x', join(scratch, file), join(scratch, 'unpacked')]);
    rmSync(target, { recursive: true, force: true });
    renameSync(join(scratch, 'unpacked'), target);
  } catch (thrown) {
    const why = toError(thrown).message.split('\n')[0];
    throw new Error(
      `promtool is needed: install Debian's package prometheus, or put promtool on the PATH (${why})`,
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** With lists of its own where the machine's are empty: those are changed by nobody but its owner. */
async function download(directory: string): Promise<void> {
  const sandbox = ['-o', 'APT::Sandbox::User=root'];
  const fetch = ['download', 'prometheus'];
  try {
    await run('apt-get', [...sandbox, ...fetch], { cwd: directory });
  } catch {
    const lists = join(directory, 'lists');
    const cache = join(directory, 'cache');
    for (const one of [lists, cache]) mkdirSync(join(one, 'partial'), { recursive: true });
    const own = [...sandbox, '-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${cache}`];
    await run('apt-get', [...own, 'update'], { cwd: directory });
    await run('apt-get', [...own, ...fetch], { cwd: directory });
  }
}

/** What promtool says; throws with its words where it is not content. */
export async function promtoolSays(...args: string[]): Promise<string> {
  const program = await promtool();
  try {
    return (await run(program, args)).stdout;
  } catch (thrown) {
    const { stdout = '', stderr = '' } = thrown as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`);
  }
}
