import { answerFormats } from '../answer-text.ts';
import { type CommandSpec, listOption } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { pairsOf } from '../pairs.ts';

/** Asks ClickHouse, read-only. */
export const sql: CommandSpec = {
  name: 'sql [statement]',
  about: 'ask ClickHouse, read-only; without a statement: a conversation, or what stands in stdin',
  options: [
    {
      flags: '--format <form>',
      about: 'table (on a terminal), json or csv; tab-separated lines elsewhere',
      choices: answerFormats,
    },
    { flags: '--param <name=value...>', about: 'value for {name:Type} in the statement' },
  ],
  examples: [
    'longrein sql "SELECT status, count() FROM sessions GROUP BY status"',
    'longrein sql --format csv "SELECT * FROM model_calls WHERE at > now() - INTERVAL 1 DAY"',
    'longrein sql',
  ],
  async run(call) {
    const { ask } = await import('../ask.ts');
    const statement = call.args[0] ?? (process.stdin.isTTY ? undefined : await readInput());
    if (statement !== undefined) {
      if (statement.trim() === '') {
        throw new UsageError('the statement is empty', 'Write one behind `longrein sql`.');
      }
      await ask(call, statement, pairsOf(listOption(call, 'param')));
      return exitCodes.done;
    }
    const { sqlShell } = await import('../sql-shell.ts');
    await sqlShell(call, { input: process.stdin, output: process.stdout });
    return exitCodes.done;
  },
};

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Buffer));
  return Buffer.concat(chunks).toString('utf8');
}
