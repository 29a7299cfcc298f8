import type { DataOf, SeenEvent } from '../../../schemas/event.ts';
import type { Line } from '../world/history.ts';
import type { Run } from '../world/run-outcome.ts';

/** What the log says of the calls of a run. */
export type CallInLog = {
  effect: DataOf<'tool.permitted'>['effect'] | 'model' | undefined;
  /** Where it was allowed to begin: the permit of a tool call, the request of a model call. */
  allowed: Line | undefined;
  claims: Line[];
};

function callOf(calls: Map<string, CallInLog>, call: string): CallInLog {
  const known = calls.get(call) ?? { effect: undefined, allowed: undefined, claims: [] };
  calls.set(call, known);
  return known;
}

function take(calls: Map<string, CallInLog>, line: Line, event: SeenEvent): void {
  switch (event.type) {
    case 'tool.permitted': {
      const call = callOf(calls, event.data.call);
      call.effect = event.data.effect;
      call.allowed ??= line;
      return;
    }
    case 'model.requested': {
      const call = callOf(calls, event.data.call);
      call.effect = 'model';
      call.allowed ??= line;
      return;
    }
    case 'tool.claimed':
    case 'model.claimed':
      callOf(calls, event.data.call).claims.push(line);
  }
}

export function callsOf({ history }: Run): ReadonlyMap<string, CallInLog> {
  const calls = new Map<string, CallInLog>();
  for (const line of history.lines) for (const event of line.step.events) take(calls, line, event);
  return calls;
}
