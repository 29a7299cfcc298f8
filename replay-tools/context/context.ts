import type { Content, SeenEvent } from '../../schemas/event.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import {
  type ModelCallToMake,
  type ModelGatewayState,
  modelGatewayLogic,
  requestOf,
} from '../../services/model-gateway/decide.ts';
import { estimateTokens } from '../../services/model-gateway/providers/token-estimate.ts';
import { isMissing } from '../read/contents.ts';
import { type Happening, type History, numberIn, textIn } from '../read/history.ts';

/** The whole context window of an agent's model call, as the provider got it: folded by the gateway's own fold. */

export type ContextWindow = Readonly<{
  session: string;
  agent: string;
  task: string;
  attempt: number;
  step: number;
  request: Happening;
  /** How the call ended; absent while it has not. */
  outcome?: Happening;
  model: string;
  outputTokensMax: number;
  timeoutMs: number;
  messages: ModelCallToMake['messages'];
  tools: ModelCallToMake['tools'];
  tokens: Readonly<{
    /** For each message, and for the tools: characters divided by four. */
    messages: readonly number[];
    tools: number;
    estimated: number;
    /** What the provider counted; absent where it did not answer. */
    input?: number;
    output?: number;
  }>;
}>;

type Request = Happening & Readonly<{ event: SeenEvent<'model.requested'> }>;

const isRequest = (one: Happening): one is Request => one.event.type === 'model.requested';

const placesOf = (requests: readonly Happening[]): string =>
  requests.map(({ place }) => place).join(', ');

/** Agents that asked a model, by id; a task stands for its newest agent. */
function requestsOf(history: History, agent: string): readonly Request[] {
  const requests = history.whole.filter(isRequest);
  const own = requests.filter((one) => textIn(one, 'agent') === agent);
  if (own.length > 0) return own;
  const ofTask = requests.filter((one) => textIn(one, 'task') === agent);
  if (ofTask.length > 0) return ofTask;
  const known = [...new Set(requests.map((one) => textIn(one, 'agent')))].join(', ');
  const message = `no agent ${agent} of ${history.session} asked a model`;
  const fix = known === '' ? 'no agent of this session did' : `these did: ${known}`;
  throw new LongreinError('AGENT_UNKNOWN', message, { fix });
}

function requestAt(history: History, agent: string, at: Happening | undefined): Request {
  const requests = requestsOf(history, agent);
  const { whole } = history;
  const until = at === undefined ? whole.length : whole.indexOf(at);
  const found = requests.findLast((one) => whole.indexOf(one) <= until);
  if (found !== undefined) return found;
  const message = `${agent} had asked no model yet at ${at?.place}`;
  const fix = `it asked at ${placesOf(requests)}`;
  throw new LongreinError('CONTEXT_EMPTY', message, { fix });
}

const lacksContent = ({ event }: Happening): boolean =>
  Object.values(event.content as Readonly<Record<string, Content>>).some(isMissing);

/** The gateway's state right after the request. Throws LongreinError CONTEXT_UNREADABLE where a content is nowhere. */
function stateAt(history: History, request: Request): ModelGatewayState {
  let state: ModelGatewayState = modelGatewayLogic.initial();
  for (const one of history.whole) {
    try {
      state = modelGatewayLogic.evolve(state, one.event);
    } catch (cause) {
      if (!lacksContent(one)) throw cause;
      const message = `what ${one.place} ${one.event.type} says is not to be had here`;
      throw new LongreinError('CONTEXT_UNREADABLE', message, {
        fix: 'it was erased, is sealed with a key that is not here, or its blob is in another store',
        cause,
      });
    }
    if (one === request) break;
  }
  return state;
}

/** What the gateway would send now. */
function asked(history: History, request: Request): ModelCallToMake {
  const state = stateAt(history, request);
  const found = requestOf(state, request.event.data.call);
  if (found !== undefined) return found;
  const message = `the request ${request.place} came when its work had ended, and was never made`;
  throw new LongreinError('CONTEXT_EMPTY', message, { fix: 'ask for an earlier event' });
}

function tokensOf({ messages, tools }: ModelCallToMake, outcome: Happening | undefined) {
  const each = messages.map((message) => estimateTokens(JSON.stringify(message)));
  const offered = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  const estimated = each.reduce((sum, one) => sum + one, offered);
  const input = outcome === undefined ? undefined : numberIn(outcome, 'inputTokens');
  const output = outcome === undefined ? undefined : numberIn(outcome, 'outputTokens');
  return {
    ...{ messages: each, tools: offered, estimated },
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
  };
}

/**
 * The context window of the newest model call that an agent (`ask.1`, or its task) had asked for at an event; at the end
 * where none is given. Throws LongreinError AGENT_UNKNOWN, CONTEXT_EMPTY, CONTEXT_UNREADABLE.
 */
export function contextOf(history: History, agent: string, at?: Happening): ContextWindow {
  const request = requestAt(history, agent, at);
  const window = asked(history, request);
  const { call, task, attempt, step } = request.event.data;
  const outcome = history.whole.find(
    (one) =>
      ['model.completed', 'model.failed', 'model.denied'].includes(one.event.type) &&
      textIn(one, 'call') === call,
  );
  const { model, outputTokensMax, timeoutMs, messages, tools } = window;
  return {
    session: history.session,
    ...{ agent: window.agent, task, attempt, step, request },
    ...(outcome === undefined ? {} : { outcome }),
    ...{ model, outputTokensMax, timeoutMs, messages, tools },
    tokens: tokensOf(window, outcome),
  };
}

/** The newest window of every agent that had asked a model by then. */
export function contextsOf(history: History, at?: Happening): readonly ContextWindow[] {
  const { whole } = history;
  const until = at === undefined ? whole.length : whole.indexOf(at) + 1;
  const asked = whole.slice(0, until).filter(isRequest);
  const agents = new Set(asked.map((one) => textIn(one, 'agent')));
  return [...agents].map((agent) => contextOf(history, agent, at));
}
