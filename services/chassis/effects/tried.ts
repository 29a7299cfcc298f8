/** What was tried before, as one attempt of a task tells it to the next. */

import { bodyOf, type DataOf, type SeenEvent } from '../../../schemas/event.ts';

/** One attempt that failed. `agent` is the template's name. */
export type Tried = Readonly<{
  attempt: number;
  agent: string;
  model?: string;
  code: string;
  class: DataOf<'task.failed'>['class'];
  message: string;
}>;

/** So many are told, with so much of each message: a model that reads them has other things to read. */
export const triedMax = 8;
export const messageCharactersMax = 1_000;

/** Codes of failures after which nobody is asked again: a person has spoken, or nobody would. */
export const finalCodes: ReadonlySet<string> = new Set(['GIVEN_UP', 'NOBODY_DECIDED']);

/** The attempts that an event tells of, oldest first. */
export const triedIn = ({ content }: SeenEvent<'task.scheduled'>): readonly Tried[] =>
  bodyOf(content.tried, []) as unknown as readonly Tried[];
