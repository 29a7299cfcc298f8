import { limits } from '../../../schemas/limits.ts';
import { withMember } from '../effects/member.ts';

/** Inputs that a session remembers, so that a repeat does not count (DESIGN 3.8). */

/** Small: each input makes a copy of the page that it is added to. */
const pageMax = 128;
const pagesMax = Math.ceil(limits.rememberedInputsMax / pageMax);

export type Remembered = Readonly<{
  /** Ids of inputs that nothing else makes unique, with their time; forgotten after the dedupe horizon. */
  inputs: Readonly<Record<string, number>>;
  /** The same of inputs before those, in full pages, oldest first; bounded by `limits.rememberedInputsMax`. */
  olderInputs?: readonly Readonly<Record<string, number>>[];
}>;

/**
 * Long-lived logs (keys, budgets) see inputs for ever: what is older than the horizon by the log's own time is dropped,
 * and of what is not only so many.
 */
export function remember(core: Remembered, id: string, atMs: number): Remembered {
  const inputs = withMember(core.inputs, id, atMs);
  if (Object.keys(inputs).length <= pageMax) return { inputs };
  const isRecent = (page: Readonly<Record<string, number>>): boolean =>
    Object.values(page).some((oneMs) => oneMs > atMs - limits.dedupeHorizonMs);
  const pages = [...(core.olderInputs ?? []), core.inputs].filter(isRecent).slice(-pagesMax);
  return { inputs: { [id]: atMs }, olderInputs: pages };
}

export const isRemembered = ({ inputs, olderInputs = [] }: Remembered, id: string): boolean =>
  inputs[id] !== undefined || olderInputs.some((page) => page[id] !== undefined);
