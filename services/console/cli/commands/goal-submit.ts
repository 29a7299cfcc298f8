import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { JsonObject } from '../../../../schemas/json.ts';
import { toError } from '../../../chassis/errors.ts';
import {
  type Call,
  type CommandSpec,
  flagOption,
  listOption,
  textOption,
  writeJson,
} from '../context.ts';
import { type ExitCode, exitCodes, UsageError } from '../exit-code.ts';
import { goalOf } from '../goal-draft.ts';
import { printLine } from '../live-print.ts';
import { outputText, statusLine } from '../result-print.ts';
import type { Followed, NamedGoal } from '../submit.ts';

/** Publishes a goal; with --follow stays until its result is there. */
export const goalSubmit: CommandSpec = {
  name: 'submit',
  about: 'publish a goal; with --follow, watch it to its result (exit 1 unless completed)',
  options: [
    { flags: '--file <file>', about: 'the goal as JSON; `-` reads standard input' },
    { flags: '--goal <text>', about: 'what is to be reached, in words' },
    { flags: '--plan <name>', about: 'the plan to follow' },
    { flags: '--input <name=value...>', about: 'inputs of the plan; values are JSON, else text' },
    { flags: '--context <name=value...>', about: 'handed to the agents as it is' },
    { flags: '--key <key>', about: 'goals of one key run one after another' },
    { flags: '--priority <lane>', about: 'lane', choices: ['high', 'normal', 'bulk'] },
    { flags: '--tenant <tenant>', about: 'on whose behalf' },
    { flags: '--label <name=value...>', about: 'columns of the analytics, such as team=payments' },
    { flags: '--budget-usd <amount>', about: 'no model call starts when this is spent' },
    { flags: '--timeout <seconds>', about: 'the session fails after this time' },
    { flags: '--id <id>', about: 'the same id again is the same goal; random if not given' },
    { flags: '--follow', about: 'show tasks, agents and tool calls as they happen' },
  ],
  examples: [
    'longrein goal submit --plan lockfile-audit --input path=package-lock.json --follow',
    'longrein goal submit --file goal.json --json',
  ],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const { nameGoal } = await import('../submit.ts');
    const { checkGoal } = await import('../goal-check.ts');
    const body = goalOf(await partsOf(call));
    checkGoal(body);
    const goal = nameGoal(body);
    return await withLog(call.environment, (log) =>
      flagOption(call, 'follow') ? follow(call, log, goal) : submit(call, log, goal),
    );
  },
};

type Log = Parameters<typeof import('../submit.ts').publishGoal>[0];

async function submit(call: Call, log: Log, goal: NamedGoal): Promise<ExitCode> {
  const { publishGoal } = await import('../submit.ts');
  const { goalId, session } = goal;
  const published = await publishGoal(log, goal);
  if (call.json) {
    writeJson(call, { goalId, session, ...published });
    return exitCodes.done;
  }
  const { bold } = call.terminal.colors;
  call.terminal.out(`${bold('goal')}     ${goalId}\n${bold('session')}  ${session}\n`);
  call.terminal.out(`See what becomes of it: longrein session show ${goalId}\n`);
  return exitCodes.done;
}

async function follow(call: Call, log: Log, goal: NamedGoal): Promise<ExitCode> {
  const { followGoal } = await import('../submit.ts');
  const { terminal } = call;
  const { goalId, session } = goal;
  // With --json standard output is for the document alone.
  const write = call.json ? terminal.err : terminal.out;
  const colors = call.json ? terminal.errColors : terminal.colors;
  const printer = { write, colors, columns: terminal.columns, startedMs: Date.now() };
  const onInterrupt = (): void => {
    terminal.err(`\nThe goal goes on. See it later: longrein session show ${goalId}\n`);
    process.exit(exitCodes.interrupted);
  };
  process.once('SIGINT', onInterrupt);
  const followed = await followGoal({
    log,
    goal,
    onPublished(startedMs) {
      printer.startedMs = startedMs;
      write(`${colors.bold('goal')} ${goalId}  ${colors.bold('session')} ${session}\n`);
    },
    onLine: (line) => printLine(printer, line),
    onSilence: () => terminal.err(silent),
  });
  process.off('SIGINT', onInterrupt);
  return finish(call, goal, followed);
}

const silent = 'Nothing is heard of the goal yet. Do the services run? See: longrein status\n';

function finish(call: Call, { goalId, session }: NamedGoal, followed: Followed): ExitCode {
  const { result, elapsedMs, events, repeated } = followed;
  if (call.json) {
    writeJson(call, { goalId, session, elapsedMs, events, repeated, result });
  } else {
    call.terminal.out(`\n${statusLine(call.terminal, followed)}`);
    const text = outputText(call.terminal, result.output);
    if (text !== '') call.terminal.out(`\n${text}`);
  }
  return result.status === 'completed' ? exitCodes.done : exitCodes.failed;
}

async function partsOf(call: Call): Promise<Parameters<typeof goalOf>[0]> {
  const file = textOption(call, 'file');
  const given = {
    goal: textOption(call, 'goal'),
    plan: textOption(call, 'plan'),
    key: textOption(call, 'key'),
    priority: textOption(call, 'priority'),
    tenant: textOption(call, 'tenant'),
    budgetUsd: textOption(call, 'budgetUsd'),
    timeoutSeconds: textOption(call, 'timeout'),
    id: textOption(call, 'id'),
    file: file === undefined ? undefined : await readGoalFile(file, call.workingDir),
  };
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(present) as Partial<Parameters<typeof goalOf>[0]>),
    inputs: listOption(call, 'input'),
    context: listOption(call, 'context'),
    labels: listOption(call, 'label'),
  };
}

async function readGoalFile(file: string, workingDir: string): Promise<JsonObject> {
  const where = file === '-' ? 'standard input' : file;
  try {
    const text = await readFile(file === '-' ? '/dev/stdin' : resolve(workingDir, file), 'utf8');
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as JsonObject;
    }
  } catch (thrown) {
    const fix = 'Give a file with one JSON object, such as {"goal": "…", "plan": "…"}.';
    throw new UsageError(`${where} cannot be taken as a goal: ${toError(thrown).message}`, fix);
  }
  throw new UsageError(`${where} is not a JSON object`, 'Write {"goal": "…"}.');
}
