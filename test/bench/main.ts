import { readRuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { agentLoop } from './agent-loop.ts';
import { agentSteps } from './agent-steps.ts';
import { burst } from './burst.ts';
import { fairness } from './fairness.ts';
import { countOf, machine, print, wordOf } from './figures.ts';
import { flood } from './flood.ts';
import { flooded } from './flooded.ts';
import { gatewayAlone } from './gateway.ts';
import { groupCommit } from './group-commit.ts';
import { carriedAfter, idleHost } from './idle-host.ts';
import { idleSessions } from './idle-sessions.ts';
import { lanes } from './lanes.ts';
import { longSession } from './long-session.ts';
import { memory } from './memory.ts';
import { besidePeers, requirePeers } from './peers.ts';
import { firstEvent, scheduling } from './plans.ts';
import { readyQuestions } from './questions.ts';
import { rawHop } from './raw-client.ts';
import { storeRows } from './store-rows.ts';
import { turns } from './turns.ts';
import { twoHosts } from './two-hosts.ts';
import { verifying } from './verify.ts';

type Stack = Readonly<{
  brokers: readonly string[];
  clickhouseUrl: string | null;
  processes: readonly Readonly<{ name: string; pid: number }>[];
}>;

/**
 * Every figure, or those whose names are given: hop, loop, commit, long, flood, flooded, lanes, steps, plans, fairness, store, gateway,
 * questions, memory, idle, verify (which needs no stack), and peers where they are in `--peers-dir` or LONGREIN_PEERS_DIR. `questions` asks on `--events N` of them, of which only
 * `--whole N` have texts (the others stand in rollups and thin tables alone), `lanes` has `--goals N` in the lane of the many, `idle`
 * has `--sessions N` that wait on one host, and `--beside N` records of other work beside them.
 */
export async function bench(stack: Stack, names: readonly string[]): Promise<void> {
  const wants = (name: string): boolean => names.length === 0 || names.includes(name);
  const config = readRuntimeConfig({ ...process.env, LONGREIN_LOG_LEVEL: 'error' });
  print({ ...machine(), fsync: config.fsync ? 1 : 0 });
  if (wants('questions')) {
    if (stack.clickhouseUrl === null) throw new Error('the questions need ClickHouse');
    const engine = stack.processes.find(({ name }) => name === 'clickhouse');
    const events = countOf(names, '--events', 100_000);
    const wanted = { events, whole: countOf(names, '--whole', events) };
    await readyQuestions(stack.clickhouseUrl, wanted, engine?.pid);
    if (names[0] === 'questions') return;
  }
  const raw = await rawHop(stack.brokers, wants('hop') ? 1_000 : 300);
  if (wants('hop')) await turns(config, raw.hopMs);
  if (wants('loop')) await agentLoop(config, raw.appendMs);
  if (wants('commit')) await groupCommit(config);
  if (wants('long')) await longSession(config);
  if (wants('flood')) await flood(config);
  if (wants('flooded')) await flooded(config);
  if (wants('lanes')) await lanes(config, countOf(names, '--goals', 10_000));
  if (wants('steps')) await agentSteps(config);
  if (wants('plans')) {
    scheduling();
    await firstEvent(config, raw.hopMs);
    await twoHosts(config);
  }
  if (wants('fairness')) await fairness(config);
  if (wants('store')) await storeRows(config);
  if (wants('gateway')) {
    await gatewayAlone();
    await burst(config);
  }
  if (wants('memory')) await memory();
  // Only where it is asked for: other programs have to be installed.
  if (names.includes('peers')) await besidePeers(config, peersDirOf(names));
  if (wants('idle')) {
    const sessions = countOf(names, '--sessions', 5_000);
    await idleSessions(Math.min(sessions, 5_000));
    await idleHost(config, {
      sessions,
      beside: countOf(names, '--beside', carriedAfter(sessions)),
    });
  }
  if (wants('verify')) await verifying();
}

const peersDirOf = (names: readonly string[]): string =>
  wordOf(names, '--peers-dir', process.env['LONGREIN_PEERS_DIR'] ?? '');

/**
 * What is measured without a stack. Answers whether all that was asked for is; throws where something that is asked for is
 * not there, before a stack is started for it.
 */
export async function benchAlone(names: readonly string[]): Promise<boolean> {
  if (names.includes('peers')) requirePeers(peersDirOf(names));
  if (names[0] !== 'verify') return false;
  print(machine());
  await verifying();
  return true;
}
