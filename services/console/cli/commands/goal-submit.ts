import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { JsonObject } from '../../../../schemas/json.ts';
import { LongreinError, toError } from '../../../chassis/errors.ts';
import type { GoalRequest } from '../../../client/goal-request.ts';
import type { Harness } from '../../../client/harness.ts';
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
import {
  finishFollowed,
  linePrinterOf,
  liveOptions,
  tokensOption,
  untilInterrupted,
} from '../live-follow.ts';

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
    tokensOption,
  ],
  examples: [
    'longrein goal submit --plan lockfile-audit --input path=package-lock.json --follow',
    'longrein goal submit --file goal.json --json',
  ],
  async run(call) {
    const { withHarness } = await import('../log-client.ts');
    const goal = goalOf(await partsOf(call)) as GoalRequest;
    await checked(goal);
    return await withHarness(call.environment, (harness) =>
      flagOption(call, 'follow') ? follow(call, harness, goal) : submit(call, harness, goal),
    );
  },
};

async function submit(call: Call, harness: Harness, goal: GoalRequest): Promise<ExitCode> {
  const { goalId, session, cursor, published } = await harness.submit(goal);
  if (call.json) {
    writeJson(call, { goalId, session, cursor, ...published });
    return exitCodes.done;
  }
  const { bold } = call.terminal.colors;
  call.terminal.out(`${bold('goal')}     ${goalId}\n${bold('session')}  ${session}\n`);
  call.terminal.out(`See what becomes of it: longrein goal follow ${session}\n`);
  return exitCodes.done;
}

async function follow(call: Call, harness: Harness, goal: GoalRequest): Promise<ExitCode> {
  const { followGoal } = await import('../submit.ts');
  const printer = linePrinterOf(call);
  let named = '';
  const advice = (): string => `See it later: longrein goal follow ${named}`;
  const followed = await untilInterrupted(call, advice, () =>
    followGoal(harness, goal, {
      ...liveOptions(call, printer),
      onSubmitted({ goalId, session }) {
        named = session;
        printer.startedMs = Date.now();
        const { bold } = printer.colors;
        printer.write(`${bold('goal')} ${goalId}  ${bold('session')} ${session}\n`);
      },
    }),
  );
  return finishFollowed(call, followed);
}

/** A goal without the right shape was written wrongly on the command line: nothing is asked for. */
async function checked(goal: GoalRequest): Promise<void> {
  const { nameGoal } = await import('../../../client/goal-request.ts');
  try {
    nameGoal(goal);
  } catch (thrown) {
    if (!(thrown instanceof LongreinError)) throw thrown;
    throw new UsageError(thrown.message, thrown.fix ?? '');
  }
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
