/** Images and files that go with what an agent says first: its template says which blobs. */

import type { ModelAgent } from '../../schemas/definitions/agent.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { type ModelFile, mediaTypePattern } from '../chassis/context/messages.ts';
import { LongreinError } from '../chassis/errors.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import type { Scope } from './move.ts';

/** More in one message are a mistake, not a question. */
const filesMax = 20;
const digest = /^[0-9a-f]{64}$/;

const wrong = (name: string, problem: string): LongreinError =>
  new LongreinError('FILES_INVALID', `"files" of agent "${name}" ${problem}`, {
    fix: 'Give a list of {"mediaType": …, "blob": …}, as `longrein file put PATH` prints them.',
  });

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function fileOf(name: string, one: JsonValue, at: number): ModelFile {
  const { mediaType, blob, ...rest }: JsonObject = isObject(one) ? one : {};
  const isType = typeof mediaType === 'string' && mediaTypePattern.test(mediaType);
  const isBlob = typeof blob === 'string' && digest.test(blob);
  if (!isType || !isBlob || Object.keys(rest).length > 0)
    throw wrong(name, `has no file at place ${at + 1}: ${JSON.stringify(one).slice(0, 200)}`);
  return { mediaType, blob };
}

/** The files, in the order of the template. Throws LongreinError FILES_INVALID, or what the expression throws. */
export function attachedFiles({ name, files }: ModelAgent, scope: Scope): readonly ModelFile[] {
  if (files === undefined) return [];
  const given = compileTemplate(files, `agent ${name}, files`).evaluate(scope);
  const list = Array.isArray(given) ? given : given === null ? [] : [given];
  if (list.length > filesMax)
    throw wrong(name, `gives ${list.length}, and ${filesMax} is the limit`);
  return list.map((one, at) => fileOf(name, one, at));
}
