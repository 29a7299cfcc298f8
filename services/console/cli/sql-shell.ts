/** The interactive `longrein sql`: statements over several lines, with a history that is kept. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { ask } from './ask.ts';
import { localSettings } from './config.ts';
import type { Call } from './context.ts';
import { printFailure } from './failure.ts';

const help = `Statements end with ; and may take several lines. Besides:
  \\d          tables and views
  \\d NAME     columns of one, with what they mean
  \\?          this help
  \\q          leave (also Ctrl-D)
`;

const tables = `SELECT name, comment FROM system.tables
  WHERE database = 'longrein' AND NOT endsWith(name, '_mv') ORDER BY name`;
const columns = `SELECT name, type, comment FROM system.columns
  WHERE database = 'longrein' AND table = {table:String} ORDER BY position`;

const historyMax = 1_000;

const historyPath = (call: Call): string =>
  join(localSettings(call.environment).stateDir, 'sql-history');

function readHistory(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean).slice(-historyMax);
  } catch {
    // The first time there is none.
    return [];
  }
}

/** Reads and answers until the input ends. */
export async function sqlShell(
  call: Call,
  streams: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream },
): Promise<void> {
  const path = historyPath(call);
  const past = readHistory(path);
  const lines = createInterface({
    ...streams,
    history: [...past].reverse(),
    historySize: historyMax,
    terminal: call.terminal.outIsTty,
    prompt: prompts.first,
  });
  call.terminal.out('ClickHouse, read-only. \\? for help.\n');
  const said = await converse(call, lines);
  if (said.length === 0) return;
  mkdirSync(dirname(path), { recursive: true });
  const kept = [...past, ...said].slice(-historyMax);
  writeFileSync(path, `${kept.join('\n')}\n`, { mode: 0o600 });
}

const prompts = { first: 'sql> ', more: '...> ' } as const;

/** Words for it are no statement, with or without a semicolon. */
const isLeaving = (text: string): boolean => text === '\\q' || /^(exit|quit);?$/i.test(text);

async function converse(call: Call, lines: Interface): Promise<readonly string[]> {
  const said: string[] = [];
  let begun: string[] = [];
  lines.on('SIGINT', () => {
    begun = [];
    call.terminal.out('\n');
    lines.setPrompt(prompts.first);
    lines.prompt();
  });
  lines.prompt();
  for await (const line of lines) {
    begun.push(line);
    const text = begun.join('\n').trim();
    if (isLeaving(text)) break;
    const isWhole = text === '' || text.startsWith('\\') || text.endsWith(';');
    if (isWhole) {
      begun = [];
      if (text !== '') {
        said.push(text.replaceAll('\n', ' '));
        await answer(call, text.replace(/;$/, ''));
      }
    }
    lines.setPrompt(begun.length === 0 ? prompts.first : prompts.more);
    lines.prompt();
  }
  lines.close();
  return said;
}

/** An error is told, and the conversation goes on. */
async function answer(call: Call, text: string): Promise<void> {
  try {
    const described = /^\\d\s+(\w+)$/.exec(text)?.[1];
    if (text === '\\?') call.terminal.out(help);
    else if (text === '\\d') await ask(call, tables);
    else if (described !== undefined) await ask(call, columns, { table: described });
    else await ask(call, text);
  } catch (thrown) {
    printFailure(call, thrown, false);
  }
}
