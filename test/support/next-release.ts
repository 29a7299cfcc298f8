import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import { eventSchemas } from '../../schemas/generated/schemas.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { BuiltService, ServiceFactory } from '../../services/chassis/host/service-context.ts';
import { sha256 } from '../../services/chassis/protocol/hash.ts';
import { createLanguage, type Language } from '../../services/chassis/protocol/language.ts';
import { foldWrittenBy } from '../../services/chassis/protocol/saved-entry.ts';
import type { AnyLogic, DecideInput } from '../../services/chassis/protocol/service-logic.ts';

/**
 * The services of a release that comes after this one, made of this one's: every behaviour, every fold and every machine
 * is another. Its states count what they saw under another shape; its planner answers an event that today's does not,
 * and decides something more.
 */

export const nextReleaseName = '99.0.0-next';

export type NextRelease = Readonly<{
  /** What its planner decides beside today's: an event that today's release knows, or one that it does not. */
  says?: 'timer' | 'task.explained';
  /** Who has to understand `task.explained`; everybody, if not given. */
  readers?: readonly string[];
  /** The form of its checkpoints: this release's, as it should be, or its own. */
  writes?: 'previous-fold' | 'own-fold';
}>;

type Noted = Readonly<{ asked: number; said: number }>;
type NextState = Readonly<Record<string, unknown>> & Readonly<{ noted: Noted }>;

export const noteTimer = 'next-release-note';

const explained = (readers: readonly string[] | undefined): JsonObject => ({
  $id: 'urn:longrein:event:task.explained:v1',
  title: 'TaskExplainedV1',
  'x-record': 'turn',
  'x-writers': ['planner'],
  ...(readers === undefined ? {} : { 'x-readers': readers }),
  type: 'object',
  additionalProperties: false,
  properties: {
    type: { const: 'task.explained' },
    version: { const: 1 },
    data: {
      type: 'object',
      additionalProperties: false,
      properties: { words: { type: 'integer', minimum: 0 } },
      required: ['words'],
    },
  },
  required: ['type', 'version', 'data'],
});

const languages = new Map<string, Language>();

/** This release's events, and one more. */
export function nextLanguage(readers?: readonly string[]): Language {
  const key = String(readers);
  const language = languages.get(key) ?? createLanguage([...eventSchemas, explained(readers)]);
  languages.set(key, language);
  return language;
}

const nothing: Noted = { asked: 0, said: 0 };

function noteOf(logic: AnyLogic, noted: Noted, seen: SeenEvent): Noted {
  if (seen.type === 'task.scheduled') return { ...noted, asked: noted.asked + 1 };
  if (seen.service !== logic.name) return noted;
  const isOwn = seen.type === 'timer.set' && seen.data.timer === noteTimer;
  const isNew = String(seen.type) === 'task.explained';
  return isOwn || isNew ? { ...noted, said: noted.said + 1 } : noted;
}

function withoutNote({ noted: _noted, ...inner }: NextState): unknown {
  return inner;
}

const outer = (inner: unknown, noted: Noted): NextState => ({ ...(inner as object), noted });

function said({ says = 'timer' }: NextRelease, nowMs: number): Draft {
  if (says === 'timer') return event('timer.set', { timer: noteTimer, dueAtMs: nowMs + 50 });
  return { type: 'task.explained', data: { words: 3 } } as unknown as Draft;
}

function decideNext(
  logic: AnyLogic,
  release: NextRelease,
  at: { state: NextState; input: DecideInput },
): readonly Draft[] {
  const drafts = logic.decide(withoutNote(at.state), at.input);
  const { asked, said: already } = at.state.noted;
  const due = logic.name === 'planner' && asked > 0 && already === 0;
  return due ? [...drafts, said(release, at.input.nowMs)] : drafts;
}

/** The logic as the next release has it. Facts and effects of the service go with both. */
export function nextLogic(logic: AnyLogic, release: NextRelease = {}): AnyLogic {
  const ownFold = release.writes === 'own-fold';
  const evolve = (given: unknown, seen: SeenEvent): NextState => {
    const state = given as NextState;
    const inner = withoutNote(state);
    // What today's states would not understand either is not for them.
    const next = String(seen.type) === 'task.explained' ? inner : logic.evolve(inner, seen);
    const noted = noteOf(logic, state.noted, seen);
    return next === inner && noted === state.noted ? state : outer(next, noted);
  };
  return {
    ...logic,
    behaviour: logic.behaviour + 1,
    fold: logic.fold + 1,
    foldWritten: ownFold ? logic.fold + 1 : foldWrittenBy(logic),
    foldsReadable: [foldWrittenBy(logic)],
    machines: Object.fromEntries(
      Object.entries(logic.machines).map(([id, hash]) => [id, sha256(`${hash} next`)]),
    ),
    language: nextLanguage(release.readers),
    initial: () => outer(logic.initial(), nothing),
    evolve,
    answers: (seen) =>
      String(seen.type) !== 'task.explained' &&
      (logic.answers(seen) || (logic.name === 'planner' && seen.type === 'task.scheduled')),
    decide: (state, input) => decideNext(logic, release, { state: state as NextState, input }),
    // Today's release keeps the members that it does not know, and hands them on.
    downcastState(state) {
      if (ownFold) return state as JsonValue;
      const { noted } = state as NextState;
      const today = withoutNote(state as NextState);
      const inner = (logic.downcastState?.(today) ?? today) as JsonObject;
      return { ...inner, notedByNext: [noted.asked, noted.said] };
    },
    upcastState(saved, fold) {
      const { notedByNext, ...inner } = saved as JsonObject;
      const [asked = 0, said = 0] = (notedByNext ?? []) as readonly number[];
      return outer(logic.upcastState?.(inner, fold) ?? inner, { asked, said });
    },
  };
}

/** A service of this release as the next one has it. */
export function nextService(built: BuiltService, release: NextRelease = {}): BuiltService {
  const { hosted } = built;
  const logic = nextLogic(hosted.logic, release);
  return { ...built, hosted: Object.assign(Object.create(hosted) as typeof hosted, { logic }) };
}

/** The factories of a host of the next release. */
export const nextFactories = (
  factories: readonly ServiceFactory[],
  release: NextRelease = {},
): readonly ServiceFactory[] =>
  factories.map((factory) => async (context) => nextService(await factory(context), release));
