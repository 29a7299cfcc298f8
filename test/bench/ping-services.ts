import { type Draft, event, json, type SeenEvent } from '../../schemas/event.ts';
import { sessionTopic } from '../../schemas/topics.ts';
import type { HostedService } from '../../services/chassis/host/ports.ts';
import type { AnyLogic, ServiceLogic } from '../../services/chassis/protocol/service-logic.ts';

/** Two services that answer each other: the shortest turns that a host can make. */

type Ping = Readonly<{ asked: number; answered: number; turns: number; closed: boolean }>;

const fresh: Ping = { asked: 0, answered: 0, turns: 0, closed: false };

function evolve(state: Ping, seen: SeenEvent): Ping {
  if (seen.type === 'session.opened') return { ...state, turns: seen.data.timeoutMs ?? 0 };
  if (seen.type === 'tool.requested') return { ...state, asked: state.asked + 1 };
  if (seen.type === 'tool.denied') return { ...state, answered: state.answered + 1 };
  return state;
}

const shared = { behaviour: 1, fold: 1, machines: {}, initial: () => fresh, evolve };

const asker: ServiceLogic<Ping> = {
  ...shared,
  name: 'bench-asker',
  answers: (seen) => seen.type === 'session.opened' || seen.type === 'tool.denied',
  decide(state): readonly Draft[] {
    if (state.turns === 0 || state.asked > state.answered) return [];
    if (state.answered >= state.turns) return [event('session.closed', {})];
    const call = `call-${state.asked}`;
    const at = { agent: 'bench', task: 'bench', attempt: 1, step: state.asked, agentName: 'bench' };
    return [event('tool.requested', { call, tool: 'bench', ...at }, { arguments: json({}) })];
  },
};

const answerer: ServiceLogic<Ping> = {
  ...shared,
  name: 'bench-answerer',
  answers: (seen) => seen.type === 'tool.requested',
  decide(state): readonly Draft[] {
    if (state.answered >= state.asked) return [];
    const denied = {
      call: `call-${state.answered}`,
      tool: 'bench',
      code: 'BENCH',
      check: 'known' as const,
    };
    return [event('tool.denied', denied, { message: { mediaType: 'text/plain', body: '' } })];
  },
};

const hosted = (logic: ServiceLogic<Ping>): HostedService => ({
  logic: logic as unknown as AnyLogic,
  topics: [sessionTopic('bulk')],
});

export const pingServices: Readonly<Record<string, HostedService>> = {
  asker: hosted(asker),
  answerer: hosted(answerer),
};
