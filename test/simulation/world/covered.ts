import { hasBlobs } from '../../../services/chassis/content/spill.ts';
import type { RecordBody } from '../../../services/chassis/protocol/record.ts';
import type { ServiceEntry } from '../../../services/chassis/protocol/service-fold.ts';
import type { Persisted } from '../../../state-machines/fold.ts';
import { note } from './coverage.ts';
import type { Line, SessionHistory } from './history.ts';
import type { Run } from './run-outcome.ts';
import { transitionName } from './transitions.ts';

/** Counts what a run was, from its log: what was meant to happen is not what happened. */

const answer = /^(tool|model)\.(completed|failed)$/;

function coverLine(run: Run, { header, accepted, step, body }: Line): void {
  const { coverage } = run;
  note(coverage, `record ${header.kind}`);
  if (!accepted && header.kind !== 'epoch') note(coverage, 'record void');
  if (step.ignored !== undefined) note(coverage, `ignored ${step.ignored}`);
  if (body.kind === 'turn' && body.root !== undefined) note(coverage, 'turn from a checkpoint');
  if (body.kind === 'turn' && body.foreseen.length > 0 && step.events.length > 0)
    note(coverage, 'turn that foresaw');
  if (body.kind === 'input' && body.foreseeable === true && step.events.length > 0)
    note(coverage, 'input with what it set off');
  for (const event of step.events) {
    note(coverage, `event ${event.type}`);
    if (event.type === 'decision.failed' && event.data.code === 'POISON')
      note(coverage, 'poison given up');
  }
}

/** An epoch that takes some of the services of another process, and leaves it the rest. */
function coverTakeOvers(run: Run): void {
  const owners = new Map<string, string>();
  for (const { header, accepted, topic, partition } of run.history.lines) {
    if (header.kind !== 'epoch' || !accepted) continue;
    const of = (service: string): string => `${topic}/${partition} ${service}`;
    const before = new Set(header.services.map((service) => owners.get(of(service))));
    const prefix = of('');
    const left = [...owners].some(
      ([key, owner]) =>
        key.startsWith(prefix) &&
        before.has(owner) &&
        owner !== header.incarnation &&
        !header.services.includes(key.slice(prefix.length)),
    );
    if (left) note(run.coverage, 'partial take-over');
    for (const service of header.services) owners.set(of(service), header.incarnation);
  }
}

function coverSession(run: Run, { lines }: SessionHistory): void {
  const writers = new Map<string, string>();
  const behaviours = new Map<string, number>();
  for (const { body, step } of lines) {
    if (body.kind !== 'turn' || step.events.length === 0) continue;
    const { service, incarnation, behaviour } = body;
    const other = writers.get(service) ?? incarnation;
    if (other !== incarnation && step.events.some(({ type }) => type === 'delivery.acknowledged'))
      note(run.coverage, 'delivered after another host took over');
    if ((behaviours.get(service) ?? behaviour) !== behaviour)
      note(run.coverage, 'another release decides in a session');
    writers.set(service, incarnation);
    behaviours.set(service, behaviour);
  }
}

const momentMs = 50;

/** How answers of people met what else came to their session. */
function coverPeople(run: Run, { lines }: SessionHistory): void {
  const inputs = lines.filter(({ body, step }) => body.kind === 'input' && step.events.length > 0);
  const timesOf = (wanted: RegExp): number[] =>
    inputs.flatMap(({ body, step }) =>
      step.events.some(({ type }) => wanted.test(type)) ? [body.atMs] : [],
    );
  const said = timesOf(/^person\.answered$/);
  const cancelled = timesOf(/^session\.cancel-requested$/);
  const near = (others: readonly number[], atMs: number): boolean =>
    others.some((other) => Math.abs(other - atMs) <= momentMs);
  const answers = timesOf(/^tool\.(completed|failed)$/);
  for (const atMs of said) {
    if (near(answers, atMs)) note(run.coverage, 'answer of a person and of a tool in one moment');
    if (near(cancelled, atMs)) note(run.coverage, 'answer of a person and a cancel in one moment');
    if (cancelled.some((other) => other < atMs))
      note(run.coverage, 'answer of a person after the cancel');
  }
  for (const { step } of lines)
    for (const event of step.events)
      if (event.type === 'person.answer-refused' && event.data.because === 'timed-out')
        note(run.coverage, 'answer of a person that came too late');
}

/** Answers and firings that came in one millisecond of a session's log. */
function coverMoments(run: Run, { lines }: SessionHistory): void {
  const moments = new Map<number, { answers: number; timers: number }>();
  for (const { body, step } of lines) {
    if (body.kind !== 'input') continue;
    const moment = moments.get(body.atMs) ?? { answers: 0, timers: 0 };
    moments.set(body.atMs, moment);
    if (answer.test(body.event.type)) moment.answers += 1;
    if (step.events.some(({ type }) => type === 'timer.fired')) moment.timers += 1;
  }
  for (const { answers, timers } of moments.values()) {
    if (answers >= 5) note(run.coverage, 'five answers in one millisecond');
    if (answers > 0 && timers > 0) note(run.coverage, 'a timer and an answer in one millisecond');
  }
}

function coverBlobs(run: Run): void {
  for (const { value, headers } of [...run.logs.values()].flat()) {
    if (headers['lr_kind'] === undefined || value === null || value.length > 60_000) continue;
    const text = Buffer.from(value).toString('utf8', 5);
    if (!text.includes('"blob":"')) continue;
    if (hasBlobs(JSON.parse(text) as RecordBody)) note(run.coverage, 'contents in the blob store');
  }
}

type Calls = Readonly<Record<string, { machine: Persisted }>>;

const callsOf = (entry: ServiceEntry | undefined): Calls =>
  (entry?.state as { calls?: Calls } | undefined)?.calls ?? {};

const cancelled = (machine: Persisted): boolean => machine.context['cancelled'] === true;
const outcome = /^tool\.(completed|failed|denied|unknown)$/;

/** No event says that a call is cancelled: the runner concludes it from the end of what asked for it. */
function coverCancels(run: Run, { session, lines }: SessionHistory): void {
  let before: Calls = {};
  const took = (state: string, type: string): void =>
    note(run.coverage, transitionName('tool-call', state, type));
  for (const { line, entry } of lines.length > 0
    ? run.history.foldsOf('tool-runner', session)
    : []) {
    const calls = callsOf(entry);
    if (calls === before) continue;
    const types = line.step.events.map(({ type }) => type);
    for (const [call, { machine }] of Object.entries(before)) {
      const after = calls[call]?.machine;
      const isOver = after === undefined && !types.some((type) => outcome.test(type));
      if (isOver || (after !== undefined && cancelled(after) && !cancelled(machine)))
        took(machine.value, 'call.cancelled');
    }
    for (const [call, { machine }] of Object.entries(calls))
      if (before[call] === undefined && machine.value === 'claimed')
        took('cancelled', 'tool.claimed');
    before = calls;
  }
}

export function cover(run: Run): void {
  for (const line of run.history.lines) coverLine(run, line);
  coverTakeOvers(run);
  for (const session of run.history.sessions.values()) {
    coverSession(run, session);
    if (session.session.startsWith('ses_')) coverCancels(run, session);
    coverMoments(run, session);
    coverPeople(run, session);
  }
  coverBlobs(run);
  for (const { message } of run.lines.flatMap((one) => one.lines))
    if (message === 'another host took over') note(run.coverage, 'owner superseded');
}
