import { resolve } from 'node:path';
import type { Mock } from '../../../../replay-tools/fork/answers.ts';
import type { Fork } from '../../../../replay-tools/fork/fork.ts';
import type { ToolAnswers } from '../../../../replay-tools/fork/prepared.ts';
import type { Happening, History } from '../../../../replay-tools/read/history.ts';
import { release } from '../../../chassis/config/package-root.ts';
import { exportSealOf } from '../config.ts';
import {
  type Call,
  type CommandSpec,
  listOption,
  type OptionSpec,
  textOption,
} from '../context.ts';
import { type ExitCode, exitCodes, UsageError } from '../exit-code.ts';
import { count } from '../figures.ts';
import {
  layoutOf,
  shownTo,
  sourceOptions,
  tell,
  unmaskedOption,
  withHistory,
} from '../replay-call.ts';

const options: readonly OptionSpec[] = [
  {
    flags: '--set <what=value...>',
    about: 'a change: prompt, system, model, policy, tool, plan, input.NAME',
  },
  { flags: '--tools <who...>', about: 'who answers tools: `record`, `mock FILE`, or `live`' },
  {
    flags: '--models <who>',
    about: 'who answers models; with `live` it goes on as a session of its own',
    choices: ['record', 'live'],
  },
  { flags: '--out <file>', about: 'write the fork to a file, which every verb reads' },
  unmaskedOption,
  ...sourceOptions,
];

/** A session decided again from an event on: in memory, or live as a session of its own. */
export const replayFork: CommandSpec = {
  name: 'fork <session>',
  about: 'go another way from an event on: in memory and against the record, or live',
  options: [
    { flags: '--at <event>', about: 'the first event that is decided again (12.0)' },
    ...options,
  ],
  examples: [
    'longrein replay fork ses_0f3a9c --at 74.0 --tools mock mocks.yaml --out fork.jsonl',
    'longrein replay fork session.jsonl --at 21.0 --set model=scripted/other',
    'longrein replay fork ses_0f3a9c --at 74.0 --tools live --models live',
    'longrein replay fork ses_0f3a9c --at 74.0 --tools record --models live --set model=anthropic/other',
  ],
  async run(call) {
    const at = textOption(call, 'at');
    if (at === undefined) throw new UsageError('--at is missing', 'Name an event: --at 12.0');
    const { findEvent } = await import('../../../../replay-tools/read/find-event.ts');
    return await fork(call, (history) => findEvent(history, at));
  },
};

/** The failed step of a failed session once more. */
export const replayRetry: CommandSpec = {
  name: 'retry <session>',
  about: 'go on with a failed session from its failed step: in memory, or live',
  options: [{ flags: '--from <task>', about: 'from the last attempt at this task' }, ...options],
  examples: [
    'longrein replay retry ses_0f3a9c --tools mock mocks.yaml',
    'longrein replay retry ses_0f3a9c --tools live --models live',
  ],
  async run(call) {
    const { retryPoint } = await import('../../../../replay-tools/fork/retry-point.ts');
    return await fork(call, (history) => retryPoint(history, textOption(call, 'from')));
  },
};

async function fork(call: Call, pointOf: (history: History) => Happening): Promise<ExitCode> {
  if (isLive(call)) return await forkLive(call, pointOf);
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
    const { source, ...found } = made;
    const shown = { ...(await shownTo(call, found)), source };
    tell(
      call,
      () => ({ ...forkDocument(shown), ...(written === undefined ? {} : { path: written }) }),
      () => [
        ...forkLines(shown, layoutOf(call)),
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

/** Whether the world is to be touched: only where that is asked for in so many words. */
function isLive(call: Call): boolean {
  const [tools] = listOption(call, 'tools');
  const models = textOption(call, 'models');
  if (tools === 'live' && models !== 'live')
    throw new UsageError(
      'tools are live only in a fork whose models are live too',
      'Write --tools live --models live; or --tools record or mock FILE, with --models live or without.',
    );
  if (models === 'live' && tools === undefined)
    throw new UsageError(
      'a fork with live models needs to know who answers its tools',
      'Write --tools record, --tools mock FILE, or --tools live.',
    );
  return models === 'live';
}

/** Who answers the tools of a fork that goes on live; undefined where they are live too. */
async function answersIn(call: Call): Promise<ToolAnswers | undefined> {
  if (listOption(call, 'tools')[0] === 'live') return undefined;
  const mocks = await mocksIn(call);
  if (mocks?.some(({ model }) => model !== undefined))
    throw new UsageError('a mock answers a model that is live', 'Leave mocks of models out.');
  return mocks === undefined ? { from: 'record' } : { from: 'mock', mocks };
}

async function forkLive(call: Call, pointOf: (history: History) => Happening): Promise<ExitCode> {
  if (textOption(call, 'out') !== undefined)
    throw new UsageError(
      'a fork that goes on live stands in the log, and in no file',
      'Leave out --out, and export it when it has ended: longrein replay export.',
    );
  const { openLiveFork } = await import('../live-fork.ts');
  const { settingOf } = await import('../replay-settings.ts');
  const settings = await Promise.all(listOption(call, 'set').map((one) => settingOf(call, one)));
  const tools = await answersIn(call);
  const made = await withHistory(call, async (history) => {
    const at = pointOf(history);
    const wanted = { settings, ...(tools === undefined ? {} : { tools }) };
    const fork = await openLiveFork(call.environment, history, at, wanted);
    return { ...fork, of: history.session, at: at.place };
  });
  const { session, of, at, calls, tools: answered } = made;
  const changes = await shownTo(call, made.changes);
  const whose = answered === undefined ? {} : { tools: answered };
  tell(
    call,
    () => ({ session, of, at, changes, calls, live: true, ...whose }),
    () => [
      `Fork ${session} of ${of} at ${at}, ${changes.length === 0 ? 'with no change' : `with ${changes.join('; ')}`}`,
      answered === undefined
        ? 'It goes on live, with permits of its own for every call.'
        : `Its models are live, with permits of its own. No tool is run: ${count(answered.answers, 'answer')} of ${answered.from === 'mock' ? 'mocks and the record' : 'the record'}.`,
      ...(calls === 0 ? [] : [`Under way there, and asked for anew: ${count(calls, 'call')}.`]),
      `Follow it: longrein replay show ${session} --follow`,
    ],
  );
  return exitCodes.done;
}

async function write(call: Call, { source }: Fork): Promise<string | undefined> {
  const out = textOption(call, 'out');
  if (out === undefined) return undefined;
  const { exportToFile } = await import('../../../../replay-tools/export/export.ts');
  const seal = exportSealOf(call.environment, source);
  await exportToFile(source, resolve(call.workingDir, out), { release, seal });
  return out;
}
