/** Commands, options and arguments, by commander; turns every way to end into an exit code. */
import { Command, CommanderError, Option } from 'commander';
import { release } from '../../chassis/config/package-root.ts';
import { agentsCheck, agentsList, agentsShow } from './commands/agents.ts';
import { approvalsList } from './commands/approvals.ts';
import { approvalsAnswer, approvalsApprove, approvalsReject } from './commands/approvals-answer.ts';
import { deadLettersList, deadLettersShow } from './commands/dead-letters.ts';
import { deadLettersDiscard, deadLettersRetry } from './commands/dead-letters-act.ts';
import { demo } from './commands/demo.ts';
import { doctor } from './commands/doctor.ts';
import { down } from './commands/down.ts';
import { erase } from './commands/erase.ts';
import { filePut } from './commands/file-put.ts';
import { goalCancel } from './commands/goal-cancel.ts';
import { goalFollow } from './commands/goal-follow.ts';
import { goalSignal } from './commands/goal-signal.ts';
import { goalSubmit } from './commands/goal-submit.ts';
import { keysList, keysRewrap } from './commands/keys.ts';
import { masks } from './commands/masks.ts';
import { planCheck } from './commands/plan-check.ts';
import { replayAnonymise } from './commands/replay-anonymise.ts';
import { replayBacktest } from './commands/replay-backtest.ts';
import { replayContext } from './commands/replay-context.ts';
import { replayCost } from './commands/replay-cost.ts';
import { replayDiff } from './commands/replay-diff.ts';
import { replayExport } from './commands/replay-export.ts';
import { replayFirstFailure } from './commands/replay-first-failure.ts';
import { replayFork, replayRetry } from './commands/replay-fork.ts';
import { replayImport } from './commands/replay-import.ts';
import { replayDag, replayGantt } from './commands/replay-picture.ts';
import { replayReceipts } from './commands/replay-receipts.ts';
import { replayVerify } from './commands/replay-verify.ts';
import { replayWhy } from './commands/replay-why.ts';
import { servicesList, servicesReinstate, servicesRetire } from './commands/services.ts';
import { sessionList } from './commands/session-list.ts';
import { replayShow, sessionShow } from './commands/session-show.ts';
import { start } from './commands/start.ts';
import { status } from './commands/status.ts';
import { topicsList } from './commands/topics-list.ts';
import { topicsRescale } from './commands/topics-rescale.ts';
import { topicsReset } from './commands/topics-reset.ts';
import { topicsRetire } from './commands/topics-retire.ts';
import { up } from './commands/up.ts';
import { warehouse } from './commands/warehouse.ts';
import type { CommandSpec, Context, GroupSpec, OptionSpec, OptionValue } from './context.ts';
import { type ExitCode, exitCodes, UsageError } from './exit-code.ts';
import { printFailure } from './failure.ts';

const commands: readonly (CommandSpec | GroupSpec)[] = [
  demo,
  up,
  down,
  status,
  doctor,
  start,
  {
    name: 'goal',
    about: 'ask for work, watch it, or call it off',
    commands: [goalSubmit, goalFollow, goalSignal, goalCancel],
  },
  {
    name: 'approvals',
    about: 'what agents ask people, and the answers',
    commands: [approvalsList, approvalsAnswer, approvalsApprove, approvalsReject],
  },
  { name: 'plan', about: 'what plans say', commands: [planCheck] },
  { name: 'file', about: 'images and files that models see', commands: [filePut] },
  { name: 'session', about: 'see what was done', commands: [sessionList, sessionShow] },
  {
    name: 'agents',
    about: 'the agents of the catalog, and whether their files are right',
    commands: [agentsList, agentsShow, agentsCheck],
  },
  ...warehouse,
  erase,
  masks,
  {
    name: 'keys',
    about: 'the keys that contents are sealed with',
    commands: [keysList, keysRewrap],
  },
  {
    name: 'services',
    about: 'see and change which services hold the log',
    commands: [servicesList, servicesRetire, servicesReinstate],
  },
  {
    name: 'topics',
    about: 'the topics that sessions live in',
    commands: [topicsList, topicsRescale, topicsRetire, topicsReset],
  },
  {
    name: 'dead-letters',
    about: 'what could not be taken up or decided, and what to do about it',
    commands: [deadLettersList, deadLettersShow, deadLettersRetry, deadLettersDiscard],
  },
  {
    name: 'replay',
    about:
      'understand, prove and keep recorded sessions (id, start of it, goal id, or exported file); touches nothing',
    commands: [
      ...[replayShow, replayWhy, replayFirstFailure, replayContext, replayDiff],
      ...[replayCost, replayReceipts, replayGantt, replayDag, replayVerify],
      ...[replayFork, replayRetry, replayBacktest],
      ...[replayExport, replayImport, replayAnonymise],
    ],
  },
];

/** Runs one command. Never throws; what it writes goes to the terminal of the context. */
export async function runCli(argv: readonly string[], context: Context): Promise<ExitCode> {
  const json = argv.includes('--json');
  const ended: { code: ExitCode } = { code: exitCodes.done };
  const complaints: string[] = [];
  const program = build(context, ended, (text) => complaints.push(text));
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return ended.code;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return printFailure(context, thrown, json);
    if (thrown.exitCode === 0) return exitCodes.done;
    return printFailure(context, usageOf(thrown, complaints.join('')), json);
  }
}

/** What commander said, in our words: its last line may name what was meant. */
function usageOf(error: CommanderError, complaint: string): UsageError {
  if (error.code === 'commander.help') {
    const command = /^Usage: (.*?)( \[options\])? \[command\]/m.exec(complaint)?.[1] ?? 'longrein';
    const known = [...complaint.matchAll(/^ {2}([a-z]+)(?: .*)? {2,}\S/gm)].map(
      (found) => found[1],
    );
    const names = known.filter((name) => name !== 'help').join(', ');
    return new UsageError(`\`${command}\` needs a command`, `One of: ${names}.`);
  }
  const lines = error.message.replace(/^error: /, '').split('\n');
  const meant = /^\(Did you mean (.*)\?\)$/.exec(lines[1] ?? '')?.[1];
  const fix = meant === undefined ? 'See the options with --help.' : `Did you mean ${meant}?`;
  return new UsageError(lines[0] ?? error.message, fix);
}

function build(
  context: Context,
  ended: { code: ExitCode },
  complain: (text: string) => void,
): Command {
  const program = new Command('longrein')
    .description(
      'Runs AI agents from a distance: every decision in a log, every session replayable.',
    )
    .version(release, '-V, --version', 'print the release')
    .helpOption('-h, --help', 'how to use it')
    .exitOverride()
    .configureOutput({ writeOut: (text) => context.terminal.out(text), writeErr: complain });
  for (const spec of commands) {
    if (!('commands' in spec)) {
      add(program, spec, context, ended);
      continue;
    }
    const group = program.command(spec.name).description(spec.about);
    for (const one of spec.commands) add(group, one, context, ended);
  }
  program.addHelpText('after', '\nStart here:\n  longrein demo\n');
  return program;
}

function add(
  parent: Command,
  spec: CommandSpec,
  context: Context,
  ended: { code: ExitCode },
): void {
  const command = parent.command(spec.name).description(spec.about);
  for (const option of spec.options ?? []) command.addOption(optionOf(option));
  if (spec.json !== false) command.option('--json', 'one JSON document on standard output');
  const lines = spec.examples.map((line) => `  ${line}\n`).join('');
  command.addHelpText('after', `\nExample${spec.examples.length === 1 ? '' : 's'}:\n${lines}`);
  command.action(async () => {
    const options = command.opts<Record<string, OptionValue>>();
    const json = options['json'] === true;
    const args = command.processedArgs.flat() as string[];
    try {
      ended.code = await spec.run({ ...context, args, options, json });
    } catch (thrown) {
      ended.code = printFailure(context, thrown, json);
    }
  });
}

function optionOf(spec: OptionSpec): Option {
  const option = new Option(spec.flags, spec.about);
  return spec.choices === undefined ? option : option.choices(spec.choices);
}
