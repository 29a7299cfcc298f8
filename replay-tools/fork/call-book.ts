import type { SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import {
  type ModelGatewayState,
  modelGatewayLogic,
  requestOf,
} from '../../services/model-gateway/decide.ts';
import type { History } from '../read/history.ts';
import type { RecordedCall } from './answers.ts';

/** The calls that agents asked for, each told by what it asked and as which of its like. */
export class CallBook {
  private readonly calls = new Map<string, RecordedCall>();
  private readonly counts = new Map<string, number>();

  /** `gateway` is the state of the model gateway right after the event. */
  take(event: SeenEvent, gateway: ModelGatewayState): void {
    if (event.type === 'tool.requested') {
      const given = event.content.arguments.body ?? null;
      this.add({
        kind: 'tool',
        call: event.data.call,
        agent: event.data.agent,
        name: event.data.tool,
        given,
      });
    } else if (event.type === 'model.requested') {
      const { call, agent, model } = event.data;
      const none = { messages: null, tools: null, texts: undefined };
      const { messages, tools, texts } = requestOf(gateway, call) ?? none;
      const asked = texts === undefined ? { messages, tools } : { messages, tools, texts };
      const given = asked as unknown as JsonValue;
      this.add({ kind: 'model', call, agent, name: model, given });
    }
  }

  private add(asked: Omit<RecordedCall, 'ordinal'>): void {
    const { kind, agent, name, given } = asked;
    const key = canonical([kind, agent, name, given]);
    const ordinal = this.counts.get(key) ?? 0;
    this.counts.set(key, ordinal + 1);
    this.calls.set(asked.call, { ...asked, ordinal });
  }

  find(call: string): RecordedCall | undefined {
    return this.calls.get(call);
  }

  get all(): readonly RecordedCall[] {
    return [...this.calls.values()];
  }
}

/** The calls of a recorded session. */
export function recordedCalls(history: History): readonly RecordedCall[] {
  const book = new CallBook();
  let state: ModelGatewayState = modelGatewayLogic.initial();
  for (const { event } of history.whole) {
    state = modelGatewayLogic.evolve(state, event);
    book.take(event, state);
  }
  return book.all;
}
