/** Names of models: "provider/model", where the model's own part may hold more slashes. */

import { LongreinError } from '../chassis/errors.ts';

export type ModelName = Readonly<{ provider: string; model: string }>;

/** The part before the first slash; empty where there is none. */
export const providerOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf('/')));

/** The two parts of `name`. Throws LongreinError MODEL_NAME_INVALID. */
export function parseModelName(name: string): ModelName {
  const slash = name.indexOf('/');
  const provider = name.slice(0, Math.max(0, slash));
  const model = name.slice(slash + 1);
  if (!/^[a-z][a-z0-9-]*$/.test(provider) || model.trim() === '' || model !== model.trim()) {
    throw new LongreinError('MODEL_NAME_INVALID', `"${name}" is not the name of a model`, {
      fix: 'Write provider/model, such as openai/gpt-4o-mini or scripted/demo.',
    });
  }
  return { provider, model };
}
