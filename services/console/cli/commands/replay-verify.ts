import { LongreinError } from '../../../chassis/errors.ts';
import type { CommandSpec } from '../context.ts';

export const replayVerify: CommandSpec = {
  name: 'verify <session>',
  about: 'compute every decision of a session again and compare it byte for byte',
  options: [
    {
      flags: '--source <source>',
      about: 'kafka if not given',
      choices: ['kafka', 'clickhouse', 'file'],
    },
    { flags: '--file <file>', about: 'an exported session, for --source file' },
  ],
  examples: [
    'longrein replay verify ses_0f3a9c',
    'longrein replay verify ses_0f3a9c --file session.jsonl',
  ],
  run() {
    throw new LongreinError('X', 'pending', { fix: 'pending' });
  },
};
