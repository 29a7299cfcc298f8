import { resolve } from 'node:path';
import { type CommandSpec, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';

/** Keeps an exported session, so that it is found by its id. */
export const replayImport: CommandSpec = {
  name: 'import <file>',
  about: 'check an exported session wholly and keep it; then `--source file` finds it by its id',
  examples: ['longrein replay import session.jsonl'],
  async run(call) {
    const { readExport } = await import('../../../../replay-tools/read/file.ts');
    const { keepImport } = await import('../imports.ts');
    const file = resolve(call.workingDir, call.args[0] ?? '');
    const { session, release } = await readExport(file);
    const kept = await keepImport(call.environment, session, file);
    if (call.json) writeJson(call, { session, release, path: kept });
    else {
      call.terminal.out(`Kept ${session}, written by release ${release ?? '?'}.\n`);
      call.terminal.out(`See it: longrein replay show ${session} --source file\n`);
    }
    return exitCodes.done;
  },
};
