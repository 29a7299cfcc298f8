import { beforeEach, describe, expect, test } from 'vitest';
import type { AgentDefinition } from '../../../../schemas/definitions/agent.ts';
import { type DataOf, type Draft, event, type SeenEvent, text } from '../../../../schemas/event.ts';
import {
  serverCheckTools,
  withServerChecks,
} from '../../../../services/chassis/catalog/server-checks.ts';
import { toolGuardLogic } from '../../../../services/tool-guard/decide.ts';
import { createWorkerPoolLogic } from '../../../../services/worker-pool/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  completed,
  eventsOf,
  failedCall,
  newest,
  openWork,
  procedure,
  schedule,
  tool,
} from '../../../support/work-fixtures.ts';

/** An agent whose tools are those of MCP servers asks them before it begins (W5, V1, V2). */

let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([
    { logic: createWorkerPoolLogic('general') },
    { logic: toolGuardLogic },
  ]);
});

const mcp = (name: string, server: string) =>
  tool(name, { runner: { kind: 'mcp', server, tool: name } });
const own = [mcp('read', 'files'), mcp('list', 'files'), mcp('log', 'history'), tool('write')];
const named = Object.fromEntries(own.map((one) => [one.name, one]));

const reader = (changes: Partial<AgentDefinition> = {}): AgentDefinition =>
  procedure({ tools: own.map(({ name }) => name), ...(changes as object) });

function completedAgent(agent: AgentDefinition): AgentDefinition {
  return withServerChecks({ [agent.name]: agent }, named)[agent.name] ?? agent;
}

function begin(agent: AgentDefinition, more: Parameters<typeof schedule>[2] = {}): SeenEvent[] {
  const asking = serverCheckTools([agent], { tools: named, mcpServers: {} });
  openWork(bench, { agents: [agent], tools: [...own, ...Object.values(asking)] });
  schedule(bench, agent.name, more);
  return bench.settle();
}

const asked = () => eventsOf(bench.events, 'tool.requested');
const types = (events: readonly SeenEvent[]) => events.map(({ type }) => type);
const callOf = (name: string): string =>
  asked().findLast(({ data }) => data.tool === name)?.data.call ?? '';

function tell(outcome: Draft): SeenEvent[] {
  bench.input(outcome as Draft<'tool.completed'>);
  return bench.settle();
}

const down = (call: string): Draft => {
  const data = { ...failedCall(call).data, code: 'MCP_START_FAILED', class: 'unavailable' };
  const message = 'The MCP server history is not available.';
  return event('tool.failed', data as DataOf<'tool.failed'>, { message: text(message) });
};

describe('an agent of form 5', () => {
  test('asks each server once, and the guard lets it', () => {
    begin(completedAgent(reader()));
    expect(asked().map(({ data, content }) => [data.tool, content.arguments.body])).toEqual([
      ['mcp.check.files', { tools: ['list', 'read'] }],
      ['mcp.check.history', { tools: ['log'] }],
    ]);
    const permits = eventsOf(bench.events, 'tool.permitted');
    expect(permits.map(({ data }) => [data.runner, data.effect, data.timeoutMs])).toEqual([
      ['mcp', 'read-only', 20_000],
      ['mcp', 'read-only', 20_000],
    ]);
    expect(types(bench.events)).not.toContain('agent.provisioned');
  });

  test('begins when all are well, and what it asked is no work of its', () => {
    begin(completedAgent(reader()));
    expect(types(tell(completed(callOf('mcp.check.files'), {})))).toEqual([]);
    const events = tell(completed(callOf('mcp.check.history'), {}));
    expect(types(events).slice(0, 3)).toEqual([
      ...['agent.provisioned', 'agent.started', 'tool.requested'],
    ]);
    expect(newest(bench.events, 'tool.requested').data).toMatchObject({ tool: 'read', step: 1 });
    tell(completed(callOf('read'), 'text'));
    expect(newest(bench.events, 'agent.completed').data).toMatchObject({ steps: 1, toolCalls: 1 });
    expect(new Set(asked().map(({ data }) => data.call)).size).toBe(3);
  });

  test('fails with the first that is not well, before any step, and the others are let go', () => {
    begin(completedAgent(reader()));
    const events = tell(down(callOf('mcp.check.history')));
    expect(types(events)).toEqual(['agent.failed', 'task.failed', 'agent.cleaned-up']);
    const failed = newest(bench.events, 'task.failed');
    expect(failed.data).toMatchObject({
      ...{ code: 'MCP_START_FAILED', class: 'unavailable', retryable: true },
    });
    expect(failed.content.message.body).toBe(
      'Agent "reader" did not begin. The MCP server history is not available.',
    );
    expect(types(tell(completed(callOf('mcp.check.files'), {})))).toEqual([]);
  });

  test('asks anew in the next attempt', () => {
    begin(completedAgent(reader()));
    tell(down(callOf('mcp.check.history')));
    schedule(bench, 'reader', { attempt: 2 });
    bench.settle();
    expect(asked().filter(({ data }) => data.attempt === 2)).toHaveLength(2);
    tell(completed(callOf('mcp.check.files'), {}));
    tell(completed(callOf('mcp.check.history'), {}));
    expect(newest(bench.events, 'tool.requested').data).toMatchObject({ tool: 'read', attempt: 2 });
  });

  test('takes an answer that nobody saw for a server that may be well another time', () => {
    begin(completedAgent(reader()));
    const call = callOf('mcp.check.files');
    const lost = { call, tool: 'mcp.check.files', attempt: 3, because: 'runner-gone' } as const;
    bench.append([event('tool.unknown', lost, { message: text('Nobody saw.') })], 'tool-runner');
    bench.settle();
    const failed = newest(bench.events, 'task.failed').data;
    expect(failed).toMatchObject({ code: 'SERVER_CHECK_LOST', retryable: true });
  });

  test('ends with its task while it asks', () => {
    begin(completedAgent(reader()));
    const data = { task: 'reader', attempt: 1, deadlineAtMs: 1 };
    bench.append([event('task.timed-out', data)], 'supervisor');
    expect(types(bench.settle())).toEqual(['agent.cancelled', 'agent.cleaned-up']);
  });

  test('begins all the same where a guard knows no such question', () => {
    const agent = completedAgent(reader());
    bench = new BenchSession([{ logic: createWorkerPoolLogic('general') }]);
    begin(agent);
    for (const { data } of asked()) {
      const denied = { call: data.call, tool: data.tool, code: 'TOOL_NOT_LISTED', check: 'role' };
      const draft = event('tool.denied', denied as DataOf<'tool.denied'>, { message: text('No.') });
      bench.append([draft], 'tool-guard');
    }
    expect(types(bench.settle())).toContain('agent.started');
  });
});

describe('an agent begins at once', () => {
  test.each([
    ['whose template wants no question', { provisioning: { servers: 'skip' } }],
    ['whose tools are those of no server', { tools: ['write'], steps: [] }],
  ] as const)('%s', (_name, changes) => {
    begin(completedAgent(reader(changes as unknown as Partial<AgentDefinition>)));
    expect(types(bench.events)).toContain('agent.started');
    expect(asked().filter(({ data }) => data.tool.startsWith('mcp.check.'))).toEqual([]);
  });

  test('that was pinned before there were such questions', () => {
    const pinned = { form: 4, provisioning: { servers: 'check' } } as const;
    begin(reader(pinned as unknown as Partial<AgentDefinition>));
    expect(types(bench.events)).toContain('agent.started');
  });
});
