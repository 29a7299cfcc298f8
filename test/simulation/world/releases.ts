import type { Draft } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';

/**
 * Two releases of the code that run beside each other. `a` is the code as it is; `b` is the same fold with another
 * `decide`: it waits longer, says other things, and looks also when an agent is created.
 */
export const releases = ['a', 'b'] as const;
export type Release = (typeof releases)[number];

const retryLaterMs = 150;
const waitLaterMs = 90;

const saidOtherwise: ReadonlySet<string> = new Set([
  'session.failed',
  'tool.denied',
  'task.abandoned',
]);

const dueOf = ({ data }: Draft): number => Number((data as JsonObject)['dueAtMs']);

function later(draft: Draft, byMs: number): Draft {
  return { ...draft, data: { ...draft.data, dueAtMs: dueOf(draft) + byMs } } as Draft;
}

/** The retry of a task and its timer name the same time. */
function retriesLater(drafts: readonly Draft[]): Draft[] {
  const retries = drafts.filter(({ type }) => type === 'task.retry-scheduled');
  const dueAtMs = new Set(retries.map(dueOf));
  return drafts.map((draft) => (dueAtMs.has(dueOf(draft)) ? later(draft, retryLaterMs) : draft));
}

function inOtherWords(draft: Draft): Draft {
  const said = draft.content?.['message' as keyof typeof draft.content] as
    | { mediaType: string; body: unknown }
    | undefined;
  if (!saidOtherwise.has(draft.type) || typeof said?.body !== 'string') return draft;
  const message = { ...said, body: `${said.body} (In the words of the other release.)` };
  return { ...draft, content: { ...draft.content, message } } as Draft;
}

function decidedByB(service: string, drafts: readonly Draft[]): Draft[] {
  const said = drafts.map(inOtherWords);
  if (service === 'supervisor') return retriesLater(said);
  if (!service.startsWith('worker-pool')) return said;
  return said.map((draft) => (draft.type === 'timer.set' ? later(draft, waitLaterMs) : draft));
}

function asB(logic: AnyLogic): AnyLogic {
  return {
    ...logic,
    behaviour: logic.behaviour + 1,
    answers: (seen) => logic.answers(seen) || seen.type === 'agent.created',
    decide: (state, input) => decidedByB(logic.name, logic.decide(state, input)),
  };
}

export const asRelease = (release: Release, logic: AnyLogic): AnyLogic =>
  release === 'a' ? logic : asB(logic);
