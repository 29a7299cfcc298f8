import type { SeenEvent } from '../../../schemas/event.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker } from './violation.ts';

const rule = 'what is taken out gets no place but one probe at a time, and that after its time';

const eventsOf = ({ lines }: SessionHistory): readonly SeenEvent[] =>
  lines.flatMap(({ step }) => step.events);

/** What is taken out until when, and who tries whether it works again. */
type Out = { untilMs: number; probe?: string };

class Reading {
  readonly found: string[] = [];
  /** Templates by digest; the pool itself by its name. */
  readonly #out = new Map<string, Out>();
  /** The template for which a place was asked, by attempt. */
  readonly #templates = new Map<string, string>();
  /** Attempts that work on the place of who waits for them. */
  readonly #guests = new Set<string>();

  take(event: SeenEvent): void {
    const { type, data } = event;
    if (type === 'slot.requested') this.#asked(event as SeenEvent<'slot.requested'>);
    if (type === 'template.suspended') this.#out.set(data.digest, { untilMs: data.untilMs });
    if (type === 'template.resumed') this.#out.delete(data.digest);
    if (type === 'pool.paused') this.#out.set(data.pool, { untilMs: data.untilMs });
    if (type === 'pool.resumed') this.#out.delete(data.pool);
    if (type === 'slot.granted') this.#granted(event as SeenEvent<'slot.granted'>);
    if (type === 'slot.returned') for (const { task } of data.tasks) this.#end(data.session, task);
    if (type === 'slot.expired') this.#end(data.session, data.task);
  }

  #asked({ data: { session, tasks } }: SeenEvent<'slot.requested'>): void {
    for (const { task, attempt, template, placeless } of tasks) {
      const wish = `${session} ${task} ${attempt}`;
      if (template !== undefined) this.#templates.set(wish, template.digest);
      if (placeless === true) this.#guests.add(wish);
    }
  }

  /** What a probe gives away is part of it. */
  #isOfProbe(slot: string): boolean {
    return [...this.#out.values()].some(({ probe }) => slot.startsWith(`${probe}/`));
  }

  #granted({ data, atMs }: SeenEvent<'slot.granted'>): void {
    const { session, pool, tasks } = data;
    for (const { task, attempt, probe } of tasks) {
      const slot = `${session} ${task}`;
      const template = this.#templates.get(`${slot} ${attempt}`);
      if (!this.#guests.has(`${slot} ${attempt}`)) this.#try(pool, slot, atMs);
      if (template === undefined || (probe === undefined && this.#isOfProbe(slot))) continue;
      if (this.#out.has(template) !== (probe === template))
        this.found.push(`${slot} ${attempt} of ${template} is a probe: ${probe !== undefined}`);
      this.#try(template, slot, atMs);
    }
  }

  #try(what: string, slot: string, atMs: number): void {
    const out = this.#out.get(what);
    if (out === undefined) return;
    if (atMs < out.untilMs) this.found.push(`${slot} began while ${what} was taken out`);
    if (out.probe !== undefined) this.found.push(`${slot} and ${out.probe} try ${what} at once`);
    out.probe = slot;
  }

  #end(session: string, task: string): void {
    for (const out of this.#out.values()) if (out.probe === `${session} ${task}`) delete out.probe;
  }
}

function inPool(session: SessionHistory): string[] {
  const reading = new Reading();
  for (const event of eventsOf(session)) reading.take(event);
  return reading.found.map((one) => `${session.session}: ${one}`);
}

/** In the session: an attempt for which a place was asked begins when it was given, and after a denial not at all. */
function inSession(session: SessionHistory): string[] {
  const asked = new Set<string>();
  const given = new Set<string>();
  return eventsOf(session).flatMap((event) => {
    const { type, data } = event;
    const attempts = (): string[] =>
      'tasks' in data
        ? (data.tasks as readonly { task: string; attempt: number }[]).map(
            (one) => `${one.task} ${one.attempt}`,
          )
        : [];
    if (type === 'permit.requested') for (const one of attempts()) asked.add(one);
    if (type === 'permit.granted') for (const one of attempts()) given.add(one);
    if (type === 'permit.denied') for (const one of attempts()) given.delete(one);
    if (type === 'task.diverted')
      for (const one of [...asked]) if (one.startsWith(`${data.task} `)) asked.delete(one);
    if (type !== 'task.scheduled') return [];
    const attempt = `${data.task} ${data.attempt}`;
    return asked.has(attempt) && !given.has(attempt)
      ? [`${session.session}: ${attempt} began without a place`]
      : [];
  });
}

export const breakersHold: Checker = ({ history }) =>
  [...history.sessions.values()]
    .flatMap((one) => (one.session.startsWith('pool:') ? inPool(one) : inSession(one)))
    .map((detail) => ({ rule, detail }));
