import type { Violation } from './checkers/violation.ts';
import { type Concern, concernOf } from './concern.ts';
import type { Line } from './world/history.ts';
import type { Run } from './world/run-outcome.ts';
import type { Action } from './world/schedule-shape.ts';

/**
 * What happened around a violation, as text for people: time, host, place in the log, what. Only the sessions that it
 * names, and what befell hosts meanwhile.
 */

type Entry = Readonly<{ atMs: number; host: string; place: string; what: string }>;

const entriesMax = 160;

/** Incarnation -> host, from the epochs that hosts wrote. */
function hostsOf({ history }: Run): ReadonlyMap<string, string> {
  const hosts = new Map<string, string>();
  for (const { body } of history.lines)
    if (body.kind === 'epoch') hosts.set(body.incarnation, body.host);
  return hosts;
}

const short = (topic: string): string => topic.replace('longrein.', '').replace('sessions.', '');

function verdictOf({ accepted, step, header }: Line): string {
  if (!accepted) return header.kind === 'epoch' ? ' (void: a newer one is there)' : ' (void)';
  return step.ignored === undefined ? '' : ` (ignored: ${step.ignored})`;
}

const fewMax = 4;

const few = (names: readonly string[]): string =>
  names.length <= fewMax
    ? names.join(', ')
    : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;

/** What a record says, in a few words. */
function saidBy(line: Line): string {
  const { body, header } = line;
  const verdict = verdictOf(line);
  switch (body.kind) {
    case 'epoch':
      return `takes over ${few(body.services)} as epoch ${body.number}${verdict}`;
    case 'checkpoint':
      return `checkpoint of ${body.service} up to ${body.cursor.offset}${verdict}`;
    case 'input':
      return `input ${body.event.type}${idOf(body.event.data)} from ${body.source}${verdict}`;
    case 'turn': {
      const events = body.events.map(({ type, data }) => `${type}${idOf(data)}`).join(', ');
      const number = `${header.epoch}.${header.sequence}`;
      return `${body.service} [${number}, base ${body.baseOffset}]: ${events}${verdict}`;
    }
  }
}

function idOf(data: Readonly<Record<string, unknown>>): string {
  const id = data['call'] ?? data['timer'] ?? data['task'] ?? data['agent'] ?? data['session'];
  return id === undefined ? '' : ` ${String(id).slice(0, 24)}`;
}

function ofLog(run: Run, concern: Concern): Entry[] {
  const hosts = hostsOf(run);
  return run.history.lines.filter(concern.covers).map((line) => {
    const { topic, partition, offset, timestampMs, body } = line;
    const incarnation = 'incarnation' in body ? (body.incarnation ?? '') : '';
    return {
      atMs: timestampMs,
      host: hosts.get(incarnation) ?? (body.kind === 'input' ? 'any' : '?'),
      place: `${short(topic)}/${partition}@${offset}`,
      what: saidBy(line),
    };
  });
}

function ofEffects({ witness }: Run, { sessions }: Concern): Entry[] {
  return witness.effects
    .filter(({ session }) => sessions.has(session))
    .flatMap(({ host, call, atMs, toMs }) => {
      const at = { host, place: 'effect' };
      const began = { ...at, atMs, what: `${call} starts` };
      return toMs === undefined ? [began] : [began, { ...at, atMs: toMs, what: `${call} ends` }];
    });
}

function ofActions({ schedule, startedMs }: Run, { goals }: Concern): Entry[] {
  return schedule.actions
    .filter((one) => one.do === 'start' || one.do === 'broker-away' || isOf(one, goals))
    .map((action) => {
      const { atMs: _at, do: kind, ...rest } = action;
      const said =
        action.do === 'send'
          ? `${action.kind} ${action.goalId} is published ${JSON.stringify(action.value)}`
          : `${kind} ${JSON.stringify(rest)}`;
      return { atMs: startedMs + action.atMs, host: '-', place: 'world', what: said };
    });
}

const isOf = (action: Action, goals: ReadonlySet<string>): boolean =>
  action.do === 'send' && (goals.size === 0 || goals.has(action.goalId));

function ofHappenings({ witness }: Run): Entry[] {
  return witness.happenings.map(({ host, atMs, what }) => ({ host, atMs, what, place: 'fault' }));
}

function columns(entries: readonly Entry[], startedMs: number): string[] {
  const rows = entries.map(({ atMs, host, place, what }) => [
    ((atMs - startedMs) / 1_000).toFixed(3),
    host,
    place,
    what,
  ]);
  const wide = [0, 1, 2].map((index) => Math.max(4, ...rows.map((row) => row[index]?.length ?? 0)));
  const line = (row: readonly string[]): string => {
    const [time = '', host = '', place = '', what = ''] = row;
    const [a = 0, b = 0, c = 0] = wide;
    return `  ${time.padStart(a)}  ${host.padEnd(b)}  ${place.padEnd(c)}  ${what}`;
  };
  return [line(['s', 'host', 'where', 'what']), ...rows.map(line)];
}

/** The story of the first of these violations. */
export function timelineOf(run: Run, violations: readonly Violation[]): string {
  const concern = concernOf(run, violations.slice(0, 1));
  const all = [
    ...ofActions(run, concern),
    ...ofLog(run, concern),
    ...ofEffects(run, concern),
    ...ofHappenings(run),
  ].sort((a, b) => a.atMs - b.atMs);
  const shown = all.slice(0, entriesMax);
  const more = all.length > shown.length ? [`  … and ${all.length - shown.length} more`] : [];
  const about = [...concern.sessions].join(', ') || 'everything';
  return [`What happened (${about}):`, ...columns(shown, run.startedMs), ...more].join('\n');
}
