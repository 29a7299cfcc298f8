import type { JsonObject } from '../../schemas/json.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import { type Happening, type History, textIn } from '../read/history.ts';
import { contextOf } from './context.ts';
import { contextDocument } from './context-text.ts';

/** The window that led a session into its failure: what its agent's last model call had before it. */

/** The agent that the failure is about: the one of its task that asked a model last, else the one that asked last at all. */
function agentOf(history: History, failed: Happening): string | undefined {
  const asked = history
    .ofType('model.requested')
    .filter((one) => history.whole.indexOf(one) < history.whole.indexOf(failed));
  const own = asked.filter(({ scope }) => scope.task === failed.scope.task);
  const last = own.at(-1) ?? asked.at(-1);
  return last === undefined ? undefined : textIn(last, 'agent');
}

/**
 * That window, as a document that follows from the log alone: whoever makes it makes the same. Undefined where no model
 * was asked before the failure, or where the last request was never made.
 */
export function failedContext(history: History, failed: Happening): JsonObject | undefined {
  const agent = agentOf(history, failed);
  if (agent === undefined) return undefined;
  try {
    const window = contextDocument(contextOf(history, agent, failed));
    const { place: at, address } = failed;
    return { session: history.session, at, address, context: window as unknown as JsonObject };
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'CONTEXT_EMPTY') return undefined;
    throw thrown;
  }
}
