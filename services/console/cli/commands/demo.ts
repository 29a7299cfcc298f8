import { join, resolve } from 'node:path';
import { packageRoot } from '../../../chassis/config/package-root.ts';
import { modelOf, workspaceDirOf } from '../config.ts';
import { type Call, type CommandSpec, textOption, writeJson } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-code.ts';
import { duration } from '../figures.ts';
import { printLine } from '../live-print.ts';
import type { LockFile } from '../lock-file.ts';
import { outputText, statusLine } from '../result-print.ts';
import { withSteps } from '../steps.ts';
import type { Followed } from '../submit.ts';

/** Starts the stack, audits a lock file on it, shows the report and where to look next. */
export const demo: CommandSpec = {
  name: 'demo',
  about: 'start the stack and audit a package-lock.json on it',
  options: [{ flags: '--path <file>', about: 'a lock file; the one of this package if not given' }],
  examples: ['longrein demo', 'longrein demo --path ../shop/package-lock.json'],
  async run(call) {
    const { placeLockFile } = await import('../lock-file.ts');
    const given = textOption(call, 'path');
    const path =
      given === undefined
        ? join(packageRoot, 'package-lock.json')
        : resolve(call.workingDir, given);
    const lock = await placeLockFile(path, workspaceDirOf(call.environment));
    const { bringUp, upSteps } = await import('../bring-up.ts');
    const { environment } = call;
    await withSteps(call.terminal, upSteps(true), (report) =>
      bringUp({ environment, clickhouse: true, report }),
    );
    const followed = await audit(call, lock);
    return finish(call, lock, followed);
  },
};

async function audit(call: Call, lock: LockFile): Promise<Followed> {
  const { withHarness } = await import('../log-client.ts');
  const { followGoal } = await import('../submit.ts');
  const { terminal } = call;
  const colors = terminal.errColors;
  const goal = {
    goal: `Audit the dependencies in ${lock.source}`,
    plan: 'lockfile-audit',
    inputs: { path: lock.path },
    labels: { demo: 'lockfile-audit' },
  };
  const write = terminal.err;
  const printer = { write, colors, columns: terminal.columns, startedMs: Date.now() };
  return await withHarness(call.environment, (harness) =>
    followGoal(harness, goal, {
      onSubmitted({ goalId }) {
        printer.startedMs = Date.now();
        write(`\n${colors.bold('goal')} ${goalId}: audit ${lock.source}\n`);
      },
      onLine: (line) => printLine(printer, line),
      onSilence: () => write('Nothing is heard of the goal yet; still waiting.\n'),
    }),
  );
}

function finish(call: Call, lock: LockFile, followed: Followed): ExitCode {
  const { result, elapsedMs, providers } = followed;
  const scripted = providers.includes('scripted');
  // The clock of this process began with the command, builds and downloads included.
  const commandMs = Math.round(performance.now());
  if (call.json) {
    const { session, goalId } = result;
    writeJson(call, {
      goalId,
      session,
      lockFile: lock.source,
      commandMs,
      elapsedMs,
      scripted,
      result,
    });
  } else {
    tell(call, followed, { commandMs, scripted });
  }
  return result.status === 'completed' ? exitCodes.done : exitCodes.failed;
}

function tell(
  call: Call,
  followed: Followed,
  { commandMs, scripted }: { commandMs: number; scripted: boolean },
): void {
  const { terminal } = call;
  const { bold, dim, yellow } = terminal.colors;
  const { result, elapsedMs } = followed;
  const text = outputText(terminal, result.output);
  if (text !== '') terminal.out(`\n${text}`);
  terminal.out(`\n${statusLine(terminal, followed)}`);
  terminal.out(dim(`goal ${duration(elapsedMs)}, from command to result ${duration(commandMs)}\n`));
  const model = modelOf(call.environment);
  if (scripted) {
    terminal.out(`\n${yellow('The summary came from the scripted model, which needs no key.')}\n`);
    terminal.out(`${realModel}\n`);
  } else if (model !== undefined) {
    terminal.out(`\nThe summary was written by ${model}.\n`);
  }
  const lines = lookFurther(result.session).map(
    ([what, command]) => `  ${what.padEnd(10)}${bold(command)}\n`,
  );
  terminal.out(`\nLook further:\n${lines.join('')}`);
}

const realModel =
  'With a real one: LONGREIN_MODEL=openai/gpt-4o-mini OPENAI_API_KEY=… npm run demo';

function lookFurther(session: string): readonly (readonly [string, string])[] {
  const counts = `SELECT type, count() FROM events WHERE session_id = '${session}' GROUP BY type`;
  return [
    ['query', `npx longrein sql "${counts}"`],
    ['read', `npx longrein session show ${session}`],
    ['prove', `npx longrein replay verify ${session}`],
    ['stop', 'npx longrein down'],
  ];
}
