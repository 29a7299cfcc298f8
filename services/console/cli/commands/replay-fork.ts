import { resolve } from 'node:path';
import type { Mock } from '../../../../replay-tools/fork/answers.ts';
import type { Fork } from '../../../../replay-tools/fork/fork.ts';
import type { Happening, History } from '../../../../replay-tools/read/history.ts';
import { release } from '../../../chassis/config/package-root.ts';
import { LongreinError } from '../../../chassis/errors.ts';
import { exportSealOf } from '../config.ts';
import {
  type Call,
  type CommandSpec,
  listOption,
  type OptionSpec,
  textOption,
} from '../context.ts';
import { type ExitCode, exitCodes, UsageError } from '../exit-code.ts';
import { layoutOf, sourceOptions, tell, withHistory } from '../replay-call.ts';

const options: readonly OptionSpec[] = [
  {
    flags: '--set <what=value...>',
    about: 'a change: prompt, system, model, policy, tool, plan, input.NAME',
  },
  { flags: '--tools <who...>', about: 'who answers tools: `record`, or `mock FILE`' },
  { flags: '--models <who>', about: 'who answers models', choices: ['record', 'live'] },
  { flags: '--out <file>', about: 'write the fork to a file, which every verb reads' },
  ...sourceOptions,
];

/** A session decided again from an event on, in memory. */
export const replayFork: CommandSpec = {
  name: 'fork <session>',
  about: 'go another way from an event on, in memory and against the record',
  options: [
    { flags: '--at <event>', about: 'the first event that is decided again (12.0)' },
    ...options,
  ],
  examples: [
    'longrein replay fork ses_0f3a9c --at 74.0 --tools mock mocks.yaml --out fork.jsonl',
    'longrein replay fork session.jsonl --at 21.0 --set model=scripted/other',
  ],
  async run(call) {
    const at = textOption(call, 'at');
    if (at === undefined) throw new UsageError('--at is missing', 'Name an event: --at 12.0');
    const { findEvent } = await import('../../../../replay-tools/read/find-event.ts');
    return await fork(call, (history) => findEvent(history, at));
  },
};

/** The failed step of a failed session once more, in memory. */
export const replayRetry: CommandSpec = {
  name: 'retry <session>',
  about: 'rehearse a failed session from its failed step on',
  options: [{ flags: '--from <task>', about: 'from the last attempt at this task' }, ...options],
  examples: ['longrein replay retry ses_0f3a9c --tools mock mocks.yaml'],
  async run(call) {
    const { retryPoint } = await import('../../../../replay-tools/fork/retry-point.ts');
    return await fork(call, (history) => retryPoint(history, textOption(call, 'from')));
  },
};

async function fork(call: Call, pointOf: (history: History) => Happening): Promise<ExitCode> {
  refuseLive(call);
  const { forkAt } = await import('../../../../replay-tools/fork/fork.ts');
  const { candidateOf } = await import('../../../../replay-tools/fork/candidate.ts');
  const { mocked } = await import('../../../../replay-tools/fork/answers.ts');
  const { forkDocument, forkLines } = await import('../../../../replay-tools/fork/fork-text.ts');
  const { settingOf } = await import('../replay-settings.ts');
  const settings = await Promise.all(listOption(call, 'set').map((one) => settingOf(call, one)));
  const mocks = await mocksIn(call);
  return await withHistory(call, async (history) => {
    const candidate = candidateOf(settings);
    const answers = mocks === undefined ? {} : { mocks: mocked(mocks) };
    const made = forkAt(history, pointOf(history), { candidate, ...answers });
    const written = await write(call, made);
    tell(
      call,
      () => ({ ...forkDocument(made), ...(written === undefined ? {} : { path: written }) }),
      () => [
        ...forkLines(made, layoutOf(call)),
        ...(written === undefined
          ? []
          : ['', `Wrote ${written}. See it: longrein replay show ${written}`]),
      ],
    );
    return exitCodes.done;
  });
}

async function mocksIn(call: Call): Promise<readonly Mock[] | undefined> {
  const [who, file] = listOption(call, 'tools');
  if (who === undefined || who === 'record') return undefined;
  if (who === 'mock' && file !== undefined) {
    const { mocksOf } = await import('../replay-settings.ts');
    return await mocksOf(call, file);
  }
  throw new UsageError(
    `--tools "${who}" is nobody who answers`,
    'Write --tools record, or --tools mock FILE.',
  );
}

/** What would touch the world is not rehearsed. */
function refuseLive(call: Call): void {
  const asked = [...listOption(call, 'tools'), textOption(call, 'models')];
  if (!asked.includes('live')) return;
  throw new LongreinError(
    'FORK_NOT_LIVE',
    'a fork is rehearsed in memory, and calls nothing outside',
    {
      fix: 'Answer by mocks (--tools mock FILE); to let it really run, submit the goal again.',
    },
  );
}

async function write(call: Call, { source }: Fork): Promise<string | undefined> {
  const out = textOption(call, 'out');
  if (out === undefined) return undefined;
  const { exportToFile } = await import('../../../../replay-tools/export/export.ts');
  const seal = exportSealOf(call.environment, source);
  await exportToFile(source, resolve(call.workingDir, out), { release, seal });
  return out;
}
