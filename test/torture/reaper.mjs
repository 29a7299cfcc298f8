// Ends the processes of a torture run when the run is over, however it ended: waits for the end of its input, which the
// run holds open, then kills what the run's directory lists, as long as pid and start time still agree.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [dir] = process.argv.slice(2);

function linesOf(name) {
  const path = join(dir, name);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** The fields of /proc/PID/stat after the command, which may hold spaces. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text
      .slice(text.lastIndexOf(')') + 2)
      .trim()
      .split(' ');
  } catch {
    return undefined;
  }
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

process.stdin.resume();
process.stdin.on('end', () => {
  for (const { pid, mark } of linesOf('processes.jsonl'))
    if (statOf(pid)?.[19] === mark.split(':')[1]) end(pid);
  for (const { pid } of linesOf('servers.jsonl')) {
    const path = `/proc/${pid}/cmdline`;
    if (existsSync(path) && readFileSync(path, 'utf8').includes(dir)) end(pid);
  }
  process.exit(0);
});
