import type { GoalRule } from '../../schemas/definitions/goal-rule.ts';
import { type DataOf, type Draft, event, json, text } from '../../schemas/event.ts';
import { type Ruling, rulingOf } from '../chassis/catalog/goal-rules.ts';
import type { LogRecord } from '../chassis/log/port.ts';
import { goalLogId, inputId, sessionId } from '../chassis/protocol/ids.ts';
import type { InputBody } from '../chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../chassis/protocol/seal.ts';
import { headerLengthMax, type ParsedGoal, type PublicGoal, textIn } from './parse-goal.ts';

/** From a record of the goals topic to the input that opens (or cancels) a goal log. */

export type GoalInput = Readonly<{ id: string; body: InputBody }>;

type Written = Readonly<{
  tenant: string;
  principal: string;
  labels: Readonly<Record<string, string>>;
}>;

const defaultTenant = 'default';

/** A header that can be taken: neither empty nor too long. */
function headerOf({ headers }: LogRecord, name: keyof typeof headerLengthMax): string | undefined {
  const value = headers[name] ?? '';
  return value === '' || value.length > headerLengthMax[name] ? undefined : value;
}

/** Header `ce_id`, else the member `id`, else the place in the topic. */
const goalIdOf = (record: LogRecord, id: string | undefined): string =>
  headerOf(record, 'ce_id') ?? id ?? `${record.topic}/${record.partition}/${record.offset}`;

/** What a record is told from others by, where it brings no id of its own. */
export const placeOf = (record: LogRecord): string => goalIdOf(record, undefined);

const sourceOf = (record: LogRecord): string => headerOf(record, 'ce_source') ?? '';

/** An input of a goal log. */
export function inputOf(
  goalLog: string,
  draft: Draft<
    | 'goal.received'
    | 'goal.cancel-received'
    | 'goal.child-cancel-received'
    | 'goal.signal-received'
    | 'goal.answer-received'
  >,
  at: { identity: string | readonly string[]; record: LogRecord; written: Written },
): GoalInput {
  const body: InputBody = {
    kind: 'input',
    session: goalLog,
    source: 'intake',
    atMs: at.record.timestampMs,
    ...at.written,
    event: sealEvent(saltOf(goalLog), draft),
  };
  return { id: inputId(goalLog, [at.identity].flat()), body };
}

/** Where a new session of this priority goes. */
export type LaneOf = (priority: string) => string;

/** What new goals meet: lanes with their generations, and the rules of the catalog. */
export type Placing = Readonly<{ laneOf: LaneOf; rules: readonly GoalRule[] }>;

function metaOf(
  record: LogRecord,
  goal: PublicGoal,
  { laneOf, rules }: Placing,
): DataOf<'goal.received'> {
  const {
    id,
    goal: _text,
    inputs: _inputs,
    context: _context,
    tenant,
    principal: _who,
    labels: _labels,
    ...rest
  } = goal;
  const { priority: asked = 'normal', agentPools, ...options } = rest;
  const about = { tenant: tenant ?? defaultTenant, plan: rest.plan, labels: goal.labels ?? {} };
  const ruling = rulingOf(rules, { ...about, priority: asked, agentPools });
  const { priority } = ruling;
  const goalId = goalIdOf(record, id);
  const source = sourceOf(record);
  const session = sessionId(tenant ?? defaultTenant, source, goalId);
  const { topic, partition, offset, timestampMs } = record;
  const origin = { topic, partition, offset };
  return {
    goalId,
    source,
    session,
    ...pooled(ruling),
    lane: laneOf(priority),
    origin,
    receivedAtMs: timestampMs,
    ...options,
  };
}

const pooled = ({ agentPools, ...ruling }: Ruling) => ({
  ...ruling,
  ...(agentPools === undefined ? {} : { agentPools: [...agentPools] }),
});

function received(record: LogRecord, goal: PublicGoal, placing: Placing): GoalInput {
  const data = metaOf(record, goal, placing);
  const draft = event('goal.received', data, {
    goal: text(goal.goal),
    ...(goal.inputs === undefined ? {} : { inputs: json(goal.inputs) }),
    ...(goal.context === undefined ? {} : { context: json(goal.context) }),
  });
  const { tenant = defaultTenant, principal = '', labels = {} } = goal;
  const written = { tenant, principal, labels };
  return inputOf(goalLogId(data.session), draft, { identity: 'goal', record, written });
}

/** A goal that cannot be accepted still has an id, a tenant where it names one, and a result. */
function refused(
  record: LogRecord,
  { problem, partial }: Extract<ParsedGoal, { kind: 'problem' }>,
  placing: Placing,
): GoalInput {
  const id = textIn(partial, 'id');
  const tenant = textIn(partial, 'tenant') ?? defaultTenant;
  const goal = { goal: '', tenant, ...(id === undefined ? {} : { id }) };
  // Nothing that it asks for is known.
  const meta = metaOf(record, goal, { ...placing, rules: [] });
  const { code, field, message, fix } = problem;
  const data = { ...meta, problem: field === undefined ? { code } : { code, field } };
  const original = Buffer.from(record.value ?? new Uint8Array()).toString('base64');
  const draft = event('goal.received', data, {
    problem: json({ message, fix }),
    original: json(original),
  });
  const written = { tenant, principal: '', labels: {} };
  return inputOf(goalLogId(meta.session), draft, { identity: 'goal', record, written });
}

/** Each signal counts once: it is told from others by its ce_id, else by its place in the topic. */
function signalled(
  record: LogRecord,
  given: Extract<ParsedGoal, { kind: 'signal' }>['signal'],
): GoalInput {
  const { signal: of, name, payload = null } = given;
  const tenant = given.tenant ?? defaultTenant;
  const source = given.source ?? sourceOf(record);
  const session = of.startsWith('ses_') ? of : sessionId(tenant, source, of);
  const signal = placeOf(record);
  const draft = event('goal.signal-received', { signal, name }, { payload: json(payload) });
  const written = { tenant, principal: '', labels: {} };
  return inputOf(goalLogId(session), draft, { identity: ['signal', signal], record, written });
}

function cancelled(
  record: LogRecord,
  cancel: Extract<ParsedGoal, { kind: 'cancel' }>['cancel'],
): GoalInput {
  const tenant = cancel.tenant ?? defaultTenant;
  const known = cancel.cancel.startsWith('ses_');
  const source = cancel.source ?? sourceOf(record);
  const session = known ? cancel.cancel : sessionId(tenant, source, cancel.cancel);
  const requestedBy = cancel.requestedBy ?? '';
  const reason = cancel.reason === undefined ? {} : { reason: text(cancel.reason) };
  const written = { tenant, principal: requestedBy, labels: {} };
  const { child } = cancel;
  if (child !== undefined && child !== session) {
    const ofChild = event('goal.child-cancel-received', { child, requestedBy }, reason);
    return inputOf(goalLogId(session), ofChild, { identity: ['cancel', child], record, written });
  }
  const draft = event('goal.cancel-received', { requestedBy }, reason);
  return inputOf(goalLogId(session), draft, { identity: 'cancel', record, written });
}

/**
 * The input for one record; the same record gives an input of the same id, so that reading it again is harmless. The
 * lane of the first one stands.
 */
export function goalInput(record: LogRecord, parsed: ParsedGoal, placing: Placing): GoalInput {
  switch (parsed.kind) {
    case 'goal':
      return received(record, parsed.goal, placing);
    case 'cancel':
      return cancelled(record, parsed.cancel);
    case 'signal':
      return signalled(record, parsed.signal);
    case 'problem':
      return refused(record, parsed, placing);
  }
}
