import { type DataOf, event, json } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import {
  type AcceptanceState,
  accept,
  copyAcceptance,
} from '../../services/chassis/protocol/acceptance.ts';
import {
  endOfPast,
  type Forked,
  forkedCallId,
  Past,
  type PastEnd,
  timersOf,
} from '../../services/chassis/protocol/forked-past.ts';
import { hashOf } from '../../services/chassis/protocol/hash.ts';
import { goalLogId, inputId } from '../../services/chassis/protocol/ids.ts';
import { type Setting, saysOf } from '../../services/chassis/protocol/pinned-changes.ts';
import type { InputBody, PlacedRecord } from '../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';
import { seen } from '../../services/chassis/protocol/seen-event.ts';
import { type Happening, type History, textIn } from '../read/history.ts';
import { isPlaced } from '../read/session.ts';
import { refuseNoPoint } from './fork.ts';
import { type ForkGoalLog, forkGoalLog } from './fork-goal-log.ts';
import { answersContent, preparedAnswers, refuseOtherWays, type ToolAnswers } from './prepared.ts';

/**
 * The opening of a fork that goes on live: a session of its own in the log, which names the past that it shares. Services
 * go on from there, with real tools and models; every call needs a permit of its own.
 */

export type LiveFork = Readonly<{
  /** `ses_…`, another one each time. */
  session: string;
  topic: string;
  /** The input that opens it. */
  id: string;
  body: InputBody;
  /** What opens its goal log, once it is there itself. */
  goal: ForkGoalLog;
  /** Calls that were under way, and are asked for anew. */
  calls: number;
  changes: readonly string[];
  /** Who answers its tools, and how many answers there are; absent where they are live. */
  tools?: Readonly<{ from: 'record' | 'mock'; answers: number }>;
}>;

export type LiveForkOptions = Readonly<{
  settings: readonly Setting[];
  /** Who answers tools, of which then none is run; they are live where nobody does. */
  tools?: ToolAnswers;
  /** Who forks. */
  principal: string;
  /** Tells this fork from others of the same session at the same event. */
  nonce: string;
  nowMs: number;
  /** Makes the key of the fork before anything of it gets a digest; asked where the shared past is sealed. */
  seal?(session: string, tenant: string): void;
}>;

function refuse(message: string, fix: string): never {
  throw new LongreinError('FORK_NOT_LIVE', message, { fix });
}

/** A plan is looked up by the hosts before anything is decided; inputs stand until a task has got them. */
function refuseSettled(history: History, at: Happening, settings: readonly Setting[]): void {
  const plan = settings.find(({ what }) => what === 'plan');
  const rehearse = 'rehearse it: leave out --tools live and --models live';
  if (plan !== undefined)
    refuse(
      `${saysOf(plan)} cannot be changed in a fork that goes on live: plans are those of the hosts, looked up at the opening`,
      `submit the goal again with that plan, or ${rehearse}`,
    );
  const input = settings.find(({ what }) => what === 'input');
  const [given] = history.ofType('task.scheduled');
  if (input === undefined || given === undefined || given.offset >= at.offset) return;
  refuse(
    `${saysOf(input)} comes too late at ${at.place}: tasks have got their inputs at ${given.place}`,
    `fork at ${given.offset}.0 or before, or ${rehearse}`,
  );
}

function refuseUnshareable(history: History, at: Happening): void {
  const { source, restoredAt } = history.judged;
  if (!source.origin.startsWith('kafka '))
    refuse(
      `the past of a live fork stands in the log, and this one was read from ${source.origin}`,
      'name the session itself, without --source and --file',
    );
  if (restoredAt !== undefined)
    refuse(`the log of ${history.session} was cut by retention`, 'rehearse it from an export');
  if (at.event.type === 'session.opened' || at.event.type === 'session.forked')
    refuse(`at ${at.place} there is no past to share yet`, 'submit the goal again');
}

function refuseOver({ over, core, children }: PastEnd, at: Happening): void {
  if (children.size > 0)
    refuse(
      `at ${at.place} ${children.size} child sessions had not ended, and their ends go to no fork`,
      'fork at an event before the fan-out began or after it ended, or fork the child',
    );
  if (over !== undefined)
    refuse(`at ${at.place} the session was over (${over.type})`, 'fork at an earlier event');
  if (core.failed.length > 0)
    refuse(
      `before ${at.place} ${core.failed.join(', ')} failed to decide, and would decide no more`,
      'fork at an earlier event',
    );
}

/** Offset of the session's first record, and who owned what right before it. */
async function beginningOf({
  judged,
}: History): Promise<{ from: number; acceptance: AcceptanceState }> {
  const { source } = judged;
  const acceptance = copyAcceptance(source.acceptance);
  for await (const { offset, header } of source.records()) {
    if (header.session === source.session) return { from: offset, acceptance };
    accept(acceptance, header);
  }
  return { from: source.from, acceptance };
}

/** What counts before the event, as everybody reads it. */
function sharedRecords({ judged }: History, at: Happening): readonly PlacedRecord[] {
  return judged.records.flatMap(({ record, verdict }) => {
    const isShared = record.offset < at.offset && verdict !== 'void' && isPlaced(record);
    return isShared && record.header.kind !== 'checkpoint' ? [record] : [];
  });
}

function callsOf(history: History, { open }: PastEnd, session: string) {
  return [...open].map(([was, asked]) => {
    const {
      agent = '',
      agentName = '',
      task = '',
      tool,
      step,
      attempt,
    } = asked.data as Partial<DataOf<'tool.requested'>>;
    const of = history.ofType('agent.created').find((one) => textIn(one, 'agent') === agent);
    const pool = of === undefined ? '' : textIn(of, 'pool');
    return {
      ...{ was, call: forkedCallId(session, was), agent, agentName, task, pool },
      ...(tool === undefined ? {} : { tool }),
      ...(step === undefined ? {} : { step }),
      ...(attempt === undefined ? {} : { attempt }),
    };
  });
}

/** A change that does not fit is found before anything is written. */
function refuseUnfitting(body: InputBody, past: readonly PlacedRecord[]): void {
  const source = { service: 'input', incarnation: '', atMs: body.atMs };
  const forked = seen(body.event, { record: '', index: 0 }, source) as Forked;
  new Past(past, forked).steps('tool-guard');
}

type Parts = Readonly<{ at: Happening; past: readonly PlacedRecord[]; session: string }>;

async function dataOf(
  history: History,
  { at, past, session }: Parts,
  { settings, nowMs, tools }: LiveForkOptions,
): Promise<DataOf<'session.forked'>> {
  const { topic, partition, session: of } = history.judged.source;
  const opened = history.ofType('session.opened', 'session.forked')[0];
  const last = past.at(-1);
  const end = endOfPast(past, of);
  refuseOver(end, at);
  const shiftMs = nowMs - end.core.last.atMs;
  return {
    ...{ of, topic, partition, shiftMs, at: at.place, ...(await beginningOf(history)) },
    goalId: opened === undefined ? '' : textIn(opened, 'goalId'),
    lane: opened === undefined ? '' : textIn(opened, 'lane'),
    goalLog: goalLogId(session),
    to: last?.offset ?? -1,
    last: last?.header.id ?? '',
    timers: [...timersOf(end, shiftMs)],
    calls: callsOf(history, end, session),
    changes: settings.map((one) => saysOf(one).slice(0, 512)),
    placesAnew: true,
    ...(tools === undefined ? {} : { tools: tools.from }),
  };
}

/** How the goal was asked for. */
function askedOf(history: History): Readonly<{ priority: string; source: string }> {
  const opened = history.ofType('session.opened')[0];
  if (opened === undefined) return { priority: '', source: '' };
  return { priority: textIn(opened, 'priority'), source: textIn(opened, 'source') };
}

/**
 * What opens the fork of a session of the log at an event. Nothing is written. Throws LongreinError FORK_NOT_LIVE where
 * nothing can go on live from there, FORK_NO_DECISION, AGENT_UNKNOWN.
 */
export async function liveFork(
  history: History,
  at: Happening,
  options: LiveForkOptions,
): Promise<LiveFork> {
  const { settings, tools, principal, nonce, nowMs, seal } = options;
  refuseNoPoint(history, at);
  refuseSettled(history, at, settings);
  refuseUnshareable(history, at);
  if (tools !== undefined) refuseOtherWays(history, at);
  const past = sharedRecords(history, at);
  const of = history.judged.source.session;
  const session = `ses_${hashOf(['live fork', of, at.address, nonce]).slice(0, 32)}`;
  const { tenant, labels } = history.judged.core.meta;
  if (past.some(({ header }) => header.codec !== undefined))
    for (const log of [session, goalLogId(session)]) seal?.(log, tenant);
  const data = await dataOf(history, { at, past, session }, options);
  const answers = tools === undefined ? undefined : preparedAnswers(history, at, tools);
  const content = {
    ...(settings.length === 0 ? {} : { settings: json(settings as unknown as JsonValue) }),
    ...(answers === undefined ? {} : { answers: json(answersContent(answers)) }),
  };
  const body: InputBody = {
    ...{ kind: 'input', session, source: 'console', atMs: nowMs, tenant, labels },
    principal,
    event: sealEvent(saltOf(session), event('session.forked', data, content)),
  };
  refuseUnfitting(body, past);
  const { topic, changes } = data;
  return {
    session,
    topic,
    id: inputId(session, ['forked']),
    body,
    goal: forkGoalLog({ session, forked: data, ...askedOf(history) }, body),
    calls: data.calls.length,
    changes,
    ...(tools === undefined || answers === undefined
      ? {}
      : { tools: { from: tools.from, answers: answers.length } }),
  };
}
