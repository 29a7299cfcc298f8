import { describe, expect, it } from 'vitest';
import type { SeenEvent } from '../../../../../schemas/event.ts';
import { printLine } from '../../../../../services/console/cli/live-print.ts';
import { LiveView } from '../../../../../services/console/cli/live-view.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

function seen(type: string, data: object, more: { atMs?: number; content?: object } = {}) {
  const place = { record: 'turn_1', index: 0, version: 1, service: 'x', incarnation: 'i' };
  return { ...place, atMs: 0, content: {}, ...more, type, data } as unknown as SeenEvent;
}

const part = (body: unknown) => ({ digest: 'd', mediaType: 'application/json', bytes: 1, body });

describe('the live view', () => {
  it('says how long a task took', () => {
    const view = new LiveView();
    const scheduled = { task: 'read', attempt: 1, agent: 'reader', pool: 'files' };
    expect(view.take(seen('task.scheduled', scheduled))?.text).toBe('given to reader in files');
    const done = view.take(seen('task.completed', { task: 'read' }, { atMs: 1_500 }));
    expect(done).toMatchObject({ kind: 'task', name: 'read', text: 'done in 1.5 s', mood: 'good' });
  });

  it('says who gave work to whom', () => {
    const view = new LiveView();
    const given = { delegated: 'read/1', agent: 'read.1', to: 'measurer' };
    const line = (kind: string) => view.take(seen('task.delegated', { ...given, kind }));
    expect(line('delegate')).toMatchObject({
      name: 'read/1',
      text: 'delegated by read.1 to measurer',
    });
    expect(line('handoff')?.text).toBe('handed on by read.1 to measurer');
  });

  it('names agents by their template', () => {
    const view = new LiveView();
    view.take(seen('agent.created', { agent: 'read.1', name: 'lock-reader' }));
    expect(view.take(seen('agent.started', { agent: 'read.1' }))?.name).toBe('lock-reader');
  });

  it('shows short arguments and the size of long ones', () => {
    const view = new LiveView();
    const data = { call: 'c', tool: 'sandbox.run', agentName: 'a' };
    const content = { arguments: part({ path: 'x', code: 'y'.repeat(2_000) }) };
    const line = view.take(seen('tool.requested', data, { content }));
    expect(line?.text).toBe('for a, path=x, code of 2.0 kB');
  });

  it('shows a failure with its code and message, and remembers who answered', () => {
    const view = new LiveView();
    const failed = { call: 'c', tool: 't', code: 'TIMEOUT' };
    const line = view.take(seen('tool.failed', failed, { content: { message: part('too slow') } }));
    expect(line).toMatchObject({ text: 'TIMEOUT, too slow', mood: 'bad' });
    const answer = { call: 'm', provider: 'scripted', model: 'writer', durationMs: 5 };
    const used = { inputTokens: 3, outputTokens: 4, costNanoUsd: 0 };
    view.take(seen('model.completed', { ...answer, ...used }));
    expect([...view.providers]).toEqual(['scripted']);
  });

  it('passes over what a person need not see', () => {
    const view = new LiveView();
    expect(view.take(seen('timer.set', { timer: 't', dueAtMs: 1 }))).toBeUndefined();
    expect(view.seen).toBe(1);
  });
});

describe('a printed line', () => {
  it('has the seconds since the start, aligned, and fits the width', () => {
    const terminal = fakeTerminal();
    const { colors, out: write } = terminal;
    const printer = { write, colors, columns: 70, startedMs: 1_000 };
    const line = { kind: 'tool', name: 'files.read', text: 'x'.repeat(90), mood: 'bad' } as const;
    printLine(printer, { ...line, atMs: 2_250 });
    expect(terminal.stdout).toMatch(/^ {3}1\.25 s {2}tool {4}files\.read +x+…\n$/);
    expect(terminal.stdout.trimEnd().length).toBeLessThanOrEqual(70);
  });

  it('counts from the first event where the goal is older than the command', () => {
    const terminal = fakeTerminal();
    const { colors, out: write } = terminal;
    const printer = { write, colors, columns: 100, startedMs: 5_000 };
    const line = { kind: 'task', name: 'a', text: 'b', mood: 'plain' } as const;
    printLine(printer, { ...line, atMs: 1_000 });
    printLine(printer, { ...line, atMs: 1_500 });
    expect(terminal.stdout).toMatch(/0\.00 s[^\n]*\n +0\.50 s/);
  });
});
