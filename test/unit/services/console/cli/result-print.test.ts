import { describe, expect, it } from 'vitest';
import type { GoalResult } from '../../../../../services/client/result.ts';
import { outputText, statusLine } from '../../../../../services/console/cli/result-print.ts';
import { stepText } from '../../../../../services/console/cli/steps.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

const result: GoalResult = {
  goalId: 'g',
  session: 's',
  status: 'completed',
  usage: { inputTokens: 10, outputTokens: 5, costNanoUsd: 2_500_000 },
  openedAt: '2026-01-02T03:04:05.000Z',
  endedAt: '2026-01-02T03:04:06.000Z',
};
const followed = { result, elapsedMs: 1_200, events: 1, providers: [], repeated: false };

describe('the result of a goal', () => {
  it('says how it ended, how long it took and what it cost', () => {
    expect(statusLine(fakeTerminal(), followed)).toBe('completed in 1.2 s, 15 tokens, $0.0025\n');
  });

  it('says that it cost at least that, where nobody knows more', () => {
    const usage = { ...result.usage, costKnown: false as const };
    const said = (more: object) =>
      statusLine(fakeTerminal(), {
        ...followed,
        result: { ...result, usage: { ...usage, ...more } },
      });
    expect(said({})).toBe(
      'completed in 1.2 s, 15 tokens, at least $0.0025 (cost of some model calls unknown)\n',
    );
    const cut = { inputTokens: 0, outputTokens: 0, costNanoUsd: 0 };
    expect(said(cut)).toContain('0 tokens, at least $0 (cost');
  });

  it('says where it failed and what to do', () => {
    const error = {
      code: 'PLAN_UNKNOWN',
      message: 'no such plan',
      field: 'plan',
      fix: 'Name one.',
    };
    const rejected = { ...result, status: 'rejected' as const, error };
    const text = statusLine(fakeTerminal(), { ...followed, result: rejected });
    expect(text).toContain('no such plan (plan) [PLAN_UNKNOWN]');
    expect(text).toContain('fix  Name one.');
  });

  it('says that it had ended before it was asked for again', () => {
    const text = statusLine(fakeTerminal(), { ...followed, repeated: true });
    expect(text).toContain('at 2026-01-02 03:04:06 UTC, asked for before');
  });

  it('shows a report as text and other output as JSON', () => {
    const terminal = fakeTerminal();
    expect(outputText(terminal, { markdown: '# Report' })).toBe('Report\n');
    expect(outputText(terminal, { a: 1 })).toBe('{\n  "a": 1\n}\n');
    expect(outputText(terminal, 'words')).toBe('words\n');
    expect(outputText(terminal, undefined)).toBe('');
  });
});

describe('a step', () => {
  it('says in words what happens', () => {
    expect(stepText({ state: 'kept', detail: 'pid 7' })).toBe('runs already, pid 7');
    expect(stepText({ state: 'ready', detail: '127.0.0.1:9092' })).toBe('127.0.0.1:9092');
    expect(stepText({ state: 'stopping', detail: '' })).toBe('stopping');
  });
});
