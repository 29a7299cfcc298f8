/** Turns events of a session into lines for a person, in the order in which they happened. Pure. */
import type { Content, SeenEvent } from '../../../schemas/event.ts';
import { bytes, count, dollars, duration, oneLine, shortId } from './figures.ts';

/** One line. `mood` says how it is coloured. */
export interface LiveLine {
  readonly atMs: number;
  readonly kind: 'goal' | 'session' | 'plan' | 'task' | 'agent' | 'tool' | 'model' | 'person';
  readonly name: string;
  readonly text: string;
  readonly mood: 'good' | 'bad' | 'busy' | 'plain';
}

type Call = { name: string; agent: string; startedMs: number };
type Line = Omit<LiveLine, 'atMs'>;

const detailMax = 200;
const argumentMax = 60;

/** Keeps what later lines need of earlier events: names and start times. */
export class LiveView {
  private readonly agents = new Map<string, string>();
  private readonly tasks = new Map<string, number>();
  private readonly calls = new Map<string, Call>();
  /** Providers whose models answered. */
  readonly providers = new Set<string>();
  /** Events seen. */
  seen = 0;

  /** The line of an event, or undefined for one that a person need not see. */
  take(event: SeenEvent): LiveLine | undefined {
    this.seen += 1;
    const line =
      workLine(event, this) ??
      personLine(event) ??
      taskLine(event, this.tasks) ??
      callLine(event, this.calls);
    if (event.type === 'model.completed') this.providers.add(event.data.provider);
    return line && { atMs: event.atMs, ...line };
  }

  /** Remembers an agent's name, or gives it. */
  agent(id: string, name?: string): string {
    if (name !== undefined) this.agents.set(id, name);
    return this.agents.get(id) ?? shortId(id);
  }
}

const lineOf =
  (mood: Line['mood']) =>
  (kind: Line['kind'], name: string, text: string): Line => ({ kind, name, text, mood });

const plain = lineOf('plain');
const busy = lineOf('busy');
const good = lineOf('good');
const bad = lineOf('bad');

/** The text of a content, cut; empty where it was not read. */
function words(content: Content | undefined): string {
  const body = content?.body;
  if (body === undefined || body === null) return '';
  return oneLine(typeof body === 'string' ? body : JSON.stringify(body), detailMax);
}

/** Arguments of a call, short ones with their value, long ones with their size. */
function argumentsText(content: Content): string {
  const { body } = content;
  if (body === undefined) return `arguments of ${bytes(content.bytes)}`;
  if (typeof body !== 'object' || body === null) return words(content);
  return Object.entries(body)
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return text.length <= argumentMax ? `${name}=${text}` : `${name} of ${bytes(text.length)}`;
    })
    .join(', ');
}

const joined = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join(', ');

function workLine(event: SeenEvent, view: LiveView): Line | undefined {
  switch (event.type) {
    case 'goal.queued':
      return busy('goal', '', 'waits for other goals of its key');
    case 'goal.rejected':
      return bad('goal', event.data.code, words(event.content.message));
    case 'goal.wake-forwarded':
      return busy('goal', '', `goes to session ${shortId(event.data.session)}, which has its key`);
    case 'goal.taken':
      return good('goal', '', `wakes a loop of session ${shortId(event.data.takenBy)}`);
    case 'goal.cancelled':
      return bad('goal', '', 'cancelled before its session opened');
    case 'session.opened':
      return plain('session', shortId(event.data.goalLog.replace(/^goal_/, '')), 'opened');
    case 'session.forked':
      return plain('session', shortId(event.data.of), `forked at ${event.data.at}`);
    case 'session.cancel-requested':
      return bad('session', '', joined('cancel asked for', words(event.content?.reason)));
    case 'session.completed':
      return good('session', '', `completed, ${count(event.data.completed, 'task')}`);
    case 'session.failed':
      return bad('session', event.data.code, words(event.content.message));
    case 'session.cancelled':
      return bad('session', '', 'cancelled');
    case 'plan.accepted':
      return plain('plan', event.data.plan, count(event.data.tasks.length, 'task'));
    case 'plan.revision-requested':
      return busy('plan', event.data.task, 'failed: the rest of the plan is made anew');
    case 'plan.revised':
      return plain('plan', event.data.plan, count(event.data.tasks.length, 'task'));
    case 'plan.revision-refused':
      return bad('plan', event.data.code, words(event.content.violations));
    case 'plan.rejected':
      return bad('plan', event.data.plan, words(event.content.violations));
    case 'agent.created':
      view.agent(event.data.agent, event.data.name);
      return undefined;
    case 'agent.started':
      return busy('agent', view.agent(event.data.agent), 'started');
    case 'agent.completed':
      return good('agent', view.agent(event.data.agent), count(event.data.steps, 'step'));
    case 'agent.failed':
      return bad('agent', view.agent(event.data.agent), event.data.code);
    case 'decision.failed':
      return bad('session', event.data.service, words(event.content.message));
    case 'delivery.refused':
      return bad('session', event.data.code, words(event.content.message));
    default:
      return undefined;
  }
}

/** Branches that run in child sessions. */
function childLine(event: SeenEvent, tasks: Map<string, number>): Line | undefined {
  switch (event.type) {
    case 'task.delegated': {
      const how = event.data.kind === 'handoff' ? 'handed on' : 'delegated';
      return busy(
        'task',
        event.data.delegated,
        `${how} by ${event.data.agent} to ${event.data.to}`,
      );
    }
    case 'task.spread': {
      const { task, branches, sessions } = event.data;
      tasks.set(task, event.atMs);
      const where = `in ${count(sessions, 'child session')}`;
      return busy('task', task, `${count(branches, 'branch', 'branches')} ${where}`);
    }
    case 'child.opened': {
      const { child, task, count: branches } = event.data;
      const which = count(branches, 'branch', 'branches');
      return busy('session', shortId(child), `opened for ${which} of ${task}`);
    }
    case 'child.ended': {
      const { child, status, code } = event.data;
      return (status === 'completed' ? good : bad)('session', shortId(child), code ?? status);
    }
    default:
      return undefined;
  }
}

/** When a task is tried again, and why where an error policy wants it. */
function againText({ data, content, atMs }: SeenEvent<'task.retry-scheduled'>): string {
  const when = `again in ${duration(Math.max(0, data.dueAtMs - atMs))}`;
  return content?.reason === undefined ? when : joined(when, words(content.reason));
}

function personLine(event: SeenEvent): Line | undefined {
  switch (event.type) {
    case 'person.asked': {
      const { question, to = 'somebody' } = event.data;
      return busy(
        'person',
        to,
        `is asked (${shortId(question)}): ${words(event.content.question)}`,
      );
    }
    case 'person.escalated':
      return busy('person', event.data.to, `is asked too (${shortId(event.data.question)})`);
    case 'person.settled': {
      const { outcome, decision, answeredBy = 'nobody' } = event.data;
      if (outcome === 'answered') return good('person', answeredBy, decision ?? outcome);
      return bad('person', 'nobody', outcome);
    }
    case 'person.answer-refused':
      return bad('person', event.data.answeredBy, `does not count: ${event.data.because}`);
    default:
      return undefined;
  }
}

function taskLine(event: SeenEvent, tasks: Map<string, number>): Line | undefined {
  switch (event.type) {
    case 'task.scheduled': {
      const { task, attempt, agent, pool } = event.data;
      tasks.set(task, event.atMs);
      const again = attempt > 1 ? `attempt ${attempt}` : undefined;
      return busy('task', task, joined(`given to ${agent} in ${pool}`, again));
    }
    case 'task.expanded': {
      const { task, kind, count: children, begins } = event.data;
      if (begins) tasks.set(task, event.atMs);
      if (children === 0) return busy('task', task, 'begins, and waits to be woken');
      const said = {
        work: 'next round',
        review: 'goes to its reviewer',
        iteration: 'next iteration',
      };
      return busy(
        'task',
        task,
        kind === 'branch' ? count(children, 'branch', 'branches') : said[kind],
      );
    }
    case 'task.completed': {
      const { task } = event.data;
      return good(
        'task',
        task,
        `done in ${duration(event.atMs - (tasks.get(task) ?? event.atMs))}`,
      );
    }
    case 'task.failed':
      return bad('task', event.data.task, joined(event.data.code, words(event.content.message)));
    case 'task.retry-scheduled':
      return busy('task', event.data.task, againText(event));
    case 'task.diverted':
      return bad('task', event.data.task, words(event.content.reason));
    case 'task.abandoned':
      return bad(
        'task',
        event.data.task,
        `given up after ${count(event.data.attempts, 'attempt')}`,
      );
    case 'task.timed-out':
      return bad('task', event.data.task, 'ran out of time');
    case 'task.skipped':
      return plain('task', event.data.task, `skipped because of ${event.data.because}`);
    case 'task.cancelled':
      return bad('task', event.data.task, 'cancelled');
    default:
      return childLine(event, tasks);
  }
}

function callLine(event: SeenEvent, calls: Map<string, Call>): Line | undefined {
  switch (event.type) {
    case 'tool.requested': {
      const { call, tool, agentName } = event.data;
      calls.set(call, { name: tool, agent: agentName, startedMs: event.atMs });
      return busy('tool', tool, joined(`for ${agentName}`, argumentsText(event.content.arguments)));
    }
    case 'tool.denied':
      return bad('tool', event.data.tool, joined(event.data.code, words(event.content.message)));
    case 'tool.completed':
      return good('tool', event.data.tool, ended(event.data, calls));
    case 'tool.failed':
      return bad('tool', event.data.tool, joined(event.data.code, words(event.content.message)));
    case 'tool.unknown':
      return bad('tool', event.data.tool, 'nobody knows whether it happened');
    case 'model.requested': {
      const { call, model, agentName } = event.data;
      calls.set(call, { name: model, agent: agentName, startedMs: event.atMs });
      return busy('model', model, `for ${agentName}`);
    }
    case 'model.completed': {
      const { provider, model, inputTokens, outputTokens, costNanoUsd } = event.data;
      const used = `${inputTokens} tokens in, ${outputTokens} out, ${dollars(costNanoUsd)}`;
      return good('model', `${provider}/${model}`, joined(ended(event.data, calls), used));
    }
    case 'model.failed':
    case 'model.attempt-failed':
      return bad('model', event.data.model, joined(event.data.code, words(event.content.message)));
    case 'model.deferred': {
      const [first] = event.data.waitsFor;
      return busy('model', first?.model ?? '', `waits: ${first?.because ?? ''}`);
    }
    case 'model.denied':
      return bad('model', '', joined(event.data.code, words(event.content.message)));
    default:
      return undefined;
  }
}

function ended(
  data: { readonly call: string; readonly durationMs: number },
  calls: ReadonlyMap<string, Call>,
): string {
  const agent = calls.get(data.call)?.agent;
  return `${agent === undefined ? '' : `for ${agent}, `}${duration(data.durationMs)}`;
}
