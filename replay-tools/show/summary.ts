import { bodyOf, type Content, type SeenEvent } from '../../schemas/event.ts';
import { effectiveEvents, type JudgedSession } from '../read/session.ts';
import { count, preview, seconds, time, usd } from './figures.ts';

/** The head of a timeline: what was asked, how it ended, what it took. */

type Line = readonly [name: string, text: string];

const openings: ReadonlySet<string> = new Set([
  'session.opened',
  'goal.received',
  'key.requested',
  'sink.opened',
]);

const of = <T extends SeenEvent['type']>(
  events: readonly SeenEvent[],
  ...types: readonly T[]
): readonly SeenEvent<T>[] =>
  events.filter((event) =>
    (types as readonly string[]).includes(event.type),
  ) as unknown as SeenEvent<T>[];

/** How it stands, in one word. */
export function statusOf(session: JudgedSession, events: readonly SeenEvent[]): string {
  const [result] = of(events, 'result.published');
  if (result !== undefined) return result.data.status;
  if (session.core.status === 'closed') return 'closed';
  return session.core.status === 'open' ? 'running' : 'not opened';
}

const isRead = (content: Content | undefined): content is Content => content?.body !== undefined;

function goalLines(opening: SeenEvent | undefined): Line[] {
  const contents = (opening?.content ?? {}) as Readonly<Record<string, Content>>;
  const goal = contents['goal'];
  return isRead(goal) ? [['Goal', preview(bodyOf(goal), 400)]] : [];
}

function planLines(events: readonly SeenEvent[]): Line[] {
  return of(events, 'plan.accepted').map(({ data }) => [
    'Plan',
    `${data.plan} ${data.version}, ${count(data.tasks.length, 'task')}`,
  ]);
}

function timeLines(session: JudgedSession, events: readonly SeenEvent[]): Line[] {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return [];
  const took = `${seconds(last.atMs - first.atMs)}`;
  const end =
    session.core.status === 'closed'
      ? `ended ${time(last.atMs)}`
      : `newest event ${time(last.atMs)}`;
  return [['Time', `opened ${time(first.atMs)}, ${end} (${took})`]];
}

/** What a rehearsal repeats was paid for by the session that it is a fork of. */
function usageLines({ source }: JudgedSession, events: readonly SeenEvent[]): Line[] {
  const models = of(events, 'model.completed', 'model.failed', 'model.attempt-failed');
  const tools = of(events, 'tool.completed', 'tool.failed');
  if (models.length + tools.length === 0) return [];
  const sum = (name: 'inputTokens' | 'outputTokens' | 'costNanoUsd'): number =>
    models.reduce((total, { data }) => total + data[name], 0);
  const tokens = `${sum('inputTokens')} tokens in, ${sum('outputTokens')} out`;
  const money = source.fork === undefined ? usd(sum('costNanoUsd')) : 'replayed for nothing';
  const spent = models.length === 0 ? '' : ` (${tokens}, ${money})`;
  const calls = [count(models.length, 'model call') + spent, count(tools.length, 'tool call')];
  return [['Usage', calls.join(', ')]];
}

function ownerLines({ core }: JudgedSession): Line[] {
  const { tenant, principal, labels } = core.meta;
  const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const parts = [`tenant ${tenant}`, ...(principal === '' ? [] : [`by ${principal}`]), ...named];
  return tenant === '' ? [] : [['Owner', preview(parts.join(', '), 400)]];
}

function errorLines(events: readonly SeenEvent[]): Line[] {
  return of(events, 'result.published').flatMap(({ data, content }): Line[] => {
    if (data.code === undefined) return [];
    const message = isRead(content.message) ? `: ${preview(bodyOf(content.message), 400)}` : '';
    return [['Error', `${data.code}${message}`]];
  });
}

/** A fork that runs live says so in its opening. */
function forkLines(opening: SeenEvent | undefined): Line[] {
  if (opening?.type !== 'session.forked') return [];
  const { of: other, at, changes, tools } = opening.data;
  const changed = changes.length === 0 ? 'with no change' : `with ${changes.join('; ')}`;
  const answered = tools === 'mock' ? 'mocks, else the record' : 'the record';
  const live =
    tools === undefined
      ? 'live'
      : `with live models; ${answered} answers its tools, and none is run`;
  return [
    ['Fork', `of ${other} at ${at}, ${changed}: it shares what was before, and goes on ${live}`],
  ];
}

function sessionLines({ source }: JudgedSession, status: string): Line[] {
  const { fork, session } = source;
  if (fork === undefined) return [['Session', `${session}, ${status}`]];
  return [
    ['Session', `${fork.session}, ${status}`],
    [
      'Fork',
      `of ${fork.of} at ${fork.at}: rehearsed in memory, nothing was called and nothing spent`,
    ],
  ];
}

/** The lines above the events, name and text. */
export function summaryLines(session: JudgedSession): readonly Line[] {
  const { source, records } = session;
  const events = effectiveEvents(session);
  const offsets = `offsets ${records[0]?.record.offset} to ${records.at(-1)?.record.offset}`;
  return [
    ...sessionLines(session, statusOf(session, events)),
    ...forkLines(events[0]),
    ...goalLines(events.find(({ type }) => openings.has(type))),
    ...ownerLines(session),
    ...planLines(events),
    ...timeLines(session, events),
    ...usageLines(session, events),
    ...errorLines(events),
    ['Log', `${source.topic}/${source.partition}, ${offsets} (from ${source.origin})`],
  ];
}
