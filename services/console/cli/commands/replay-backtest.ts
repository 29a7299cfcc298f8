import { resolve } from 'node:path';
import type { Verdict } from '../../../../replay-tools/backtest/backtest.ts';
import { LongreinError } from '../../../chassis/errors.ts';
import { sha256 } from '../../../chassis/protocol/hash.ts';
import { type BacktestState, noState, openState } from '../backtest-state.ts';
import { type Call, type CommandSpec, textOption } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import {
  layoutOf,
  shownTo,
  sourceOptions,
  tell,
  unmaskedOption,
  wantedOf,
} from '../replay-call.ts';
import { settingOf } from '../replay-settings.ts';
import { progressOf, sessionsOver } from '../session-choice.ts';

const candidates = ['plan', 'policy', 'prompt', 'system', 'model', 'tool'] as const;

/** A candidate over many recorded sessions. */
export const replayBacktest: CommandSpec = {
  name: 'backtest',
  about: 'what a candidate would have decided otherwise over many recorded sessions; calls nothing',
  options: [
    {
      flags: '--over <query>',
      about: 'SQL that gives session_id, or a directory of exported sessions',
    },
    ...candidates.map((name) => ({
      flags: `--${name} <new>`,
      about: ['plan', 'policy', 'tool'].includes(name) ? `a ${name} file` : `another ${name}`,
    })),
    { flags: '--sample <n>', about: 'so many of them, always the same ones' },
    { flags: '--state <file>', about: 'kept as it goes: run again with it to go on' },
    unmaskedOption,
    ...sourceOptions.filter(({ flags }) => flags.startsWith('--source')),
  ],
  examples: [
    `longrein replay backtest --policy new.yaml --over "SELECT session_id FROM sessions WHERE tenant_id = 'acme'"`,
    'longrein replay backtest --model scripted/other --over exports --sample 100 --state run.jsonl',
  ],
  async run(call) {
    const { candidateOf } = await import('../../../../replay-tools/fork/candidate.ts');
    const { reportOf } = await import('../../../../replay-tools/backtest/backtest.ts');
    const { backtestLines } = await import('../../../../replay-tools/backtest/backtest-text.ts');
    const given = candidates.flatMap((name) => {
      const value = textOption(call, name);
      return value === undefined ? [] : [`${name}=${value}`];
    });
    const settings = await Promise.all(given.map((one) => settingOf(call, one)));
    const candidate = candidateOf(settings);
    const file = textOption(call, 'state');
    const path = file === undefined ? undefined : resolve(call.workingDir, file);
    const state = path === undefined ? noState : await openState(path, settings);
    // The state may lie among the exports, and is none.
    const all = (await sessionsOf(call)).filter((name) => name !== path);
    const sessions = sampled(all, textOption(call, 'sample'));
    const verdicts = await runAll(call, { sessions, candidate, state });
    const shown = await shownTo(call, verdicts);
    const report = reportOf(await shownTo(call, candidate.says), shown);
    tell(
      call,
      () => ({ ...report, verdicts: shown }),
      () => backtestLines(report, layoutOf(call)),
    );
    return exitCodes.done;
  },
};

async function sessionsOf(call: Call): Promise<readonly string[]> {
  const over = textOption(call, 'over');
  if (over !== undefined) return await sessionsOver(call, over);
  throw new UsageError('--over is missing', 'Give SQL that selects session_id, or a directory.');
}

/** The same sessions every time, spread over all of them. */
function sampled(sessions: readonly string[], sample: string | undefined): readonly string[] {
  if (sample === undefined) return sessions;
  if (!/^[1-9]\d{0,8}$/.test(sample))
    throw new UsageError(`--sample "${sample}" is not a number from 1 up`, 'Write digits only.');
  return sessions.toSorted((a, b) => (sha256(a) < sha256(b) ? -1 : 1)).slice(0, Number(sample));
}

type Candidate = import('../../../../replay-tools/fork/candidate.ts').Candidate;
type Run = Readonly<{ sessions: readonly string[]; candidate: Candidate; state: BacktestState }>;

async function runAll(call: Call, run: Run): Promise<readonly Verdict[]> {
  const { known, keep } = run.state;
  const verdicts: Verdict[] = [];
  const progress = progressOf(call, run.sessions.length);
  for (const [index, name] of run.sessions.entries()) {
    const found = known.get(name);
    const verdict = found ?? (await one(call, name, run.candidate));
    verdicts.push(verdict);
    if (found === undefined) await keep(name, verdict);
    progress(index + 1);
  }
  return verdicts;
}

async function one(call: Call, name: string, candidate: Candidate): Promise<Verdict> {
  const { withSession } = await import('../session-source.ts');
  const { judgeSession } = await import('../../../../replay-tools/read/session.ts');
  const { History } = await import('../../../../replay-tools/read/history.ts');
  const { backtest } = await import('../../../../replay-tools/backtest/backtest.ts');
  try {
    return await withSession(wantedOf(call, name), async (source) =>
      backtest(new History(await judgeSession(source)), candidate),
    );
  } catch (thrown) {
    // One session that cannot be read must not end the run; the report counts it.
    if (!(thrown instanceof LongreinError) || thrown.retryable) throw thrown;
    const none = { same: 0, taken: 0, unknown: 0, costNanoUsd: 0, knownNanoUsd: 0 };
    return { session: name, verdict: 'unreadable', ...none, reason: thrown.message };
  }
}
