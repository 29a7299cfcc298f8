import { describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../../../../../schemas/definitions/tool.ts';
import { ToolBreakers } from '../../../../../services/chassis/effects/tool-breakers.ts';
import type {
  ToolFailure,
  ToolOutcome,
} from '../../../../../services/chassis/effects/tool-port.ts';
import { toolDefinition } from '../../../../support/tool-call.ts';

const tool = toolDefinition({ name: 'web.read', breaker: { failuresMax: 2, coolMs: 1_000 } });

function failed(kind: ToolFailure['class']): ToolOutcome {
  return {
    kind: 'failed',
    error: { code: `CODE_${kind}`, class: kind, message: 'No.', retryable: true },
  };
}
const worked: ToolOutcome = { kind: 'completed', result: 1 };

/** Calls of one host, one after another, each with an id of its own. */
function host() {
  const breakers = new ToolBreakers();
  let made = 0;
  const begin = (nowMs: number, definition: ToolDefinition = tool, tenant = 'acme') => {
    made += 1;
    const call = { call: `call-${made}`, tenant, definition, deadlineAtMs: nowMs + 10_000 };
    const refusal = breakers.refusal({ ...call, nowMs });
    const end = (outcome: ToolOutcome, atMs = nowMs) =>
      breakers.ended({ ...call, nowMs: atMs }, outcome);
    return { refusal, end };
  };
  const fail = (nowMs: number, kind: ToolFailure['class'] = 'timeout') =>
    begin(nowMs).end(failed(kind));
  return { begin, fail };
}

/** A host whose breaker is open from 100 to 1,100. */
function openHost() {
  const { begin, fail } = host();
  fail(0);
  fail(100);
  return { begin, fail };
}

describe('a breaker of a tool', () => {
  it('lets calls through until so many in a row have failed', () => {
    const { begin, fail } = host();
    fail(0);
    expect(begin(1).refusal).toBeUndefined();
    fail(2);
    expect(begin(3).refusal).toMatchObject({
      code: 'TOOL_SUSPENDED',
      class: 'unavailable',
      retryable: true,
    });
  });

  it('says until when, after how many failures and which', () => {
    const { refusal } = openHost().begin(200);
    expect(refusal?.message).toContain('web.read is suspended until 1970-01-01T00:00:01.100Z');
    expect(refusal?.message).toContain('2 of its calls in a row failed (CODE_timeout)');
  });

  it('lets one probe through when the time is over, and nobody else until it has ended', () => {
    const { begin } = openHost();
    const probe = begin(1_100);
    expect(probe.refusal).toBeUndefined();
    expect(begin(1_200).refusal?.message).toContain('1970-01-01T00:00:11.100Z');
    probe.end(worked, 1_300);
    expect([begin(1_300).refusal, begin(1_300).refusal]).toEqual([undefined, undefined]);
  });

  it('stays open for twice as long when the probe fails, and no longer than five minutes', () => {
    const { begin, fail } = openHost();
    fail(1_100);
    expect(begin(3_099).refusal).toBeDefined();
    let nowMs = 3_100;
    for (let probes = 0; probes < 30; probes += 1) {
      fail(nowMs);
      nowMs += 300_000;
    }
    expect(begin(nowMs).refusal).toBeUndefined();
  });

  it('lets another probe through when the deadline of one has passed without a word', () => {
    const { begin } = openHost();
    begin(1_100);
    expect(begin(11_099).refusal).toBeDefined();
    expect(begin(11_100).refusal).toBeUndefined();
  });

  it('tries again at once when its probe was cancelled', () => {
    const { begin } = openHost();
    begin(1_100).end(failed('cancelled'), 1_150);
    expect(begin(1_200).refusal).toBeUndefined();
  });

  it('does not count what had begun before it opened', () => {
    const { begin, fail } = host();
    const slow = begin(0);
    fail(0);
    fail(100);
    slow.end(failed('timeout'), 1_090);
    expect(begin(1_100).refusal).toBeUndefined();
  });
});

describe('what counts', () => {
  it.each(['timeout', 'crashed', 'unavailable'] as const)('a call that ends by %s', (kind) => {
    const { begin, fail } = host();
    fail(0, kind);
    fail(0, kind);
    expect(begin(1).refusal).toBeDefined();
  });

  it('a call whose end nobody saw', () => {
    const { begin } = host();
    const unseen = { code: 'LOST', class: 'tool-error', message: '', retryable: false } as const;
    for (const nowMs of [0, 1]) begin(nowMs).end({ kind: 'unknown', error: unseen });
    expect(begin(2).refusal).toBeDefined();
  });

  it.each(['invalid-arguments', 'not-found', 'denied', 'limit', 'tool-error'] as const)(
    'not %s: the tool has answered, and the count begins anew',
    (kind) => {
      const { begin, fail } = host();
      fail(0);
      fail(1, kind);
      fail(2);
      expect(begin(3).refusal).toBeUndefined();
    },
  );

  it('not a call that was cancelled, which ends no count either', () => {
    const { begin, fail } = host();
    fail(0);
    fail(1, 'cancelled');
    fail(2);
    expect(begin(3).refusal).toBeDefined();
  });

  it('nothing of a tool whose file asks for no breaker', () => {
    const { begin } = host();
    const plain = toolDefinition({ name: 'web.read' });
    for (let nowMs = 0; nowMs < 50; nowMs += 1) begin(nowMs, plain).end(failed('timeout'));
    expect(begin(50, plain).refusal).toBeUndefined();
  });
});

describe('whom it stops', () => {
  it('neither another version of the tool, nor another tenant', () => {
    const { begin } = openHost();
    expect(begin(200, { ...tool, version: '1.0.1' }).refusal).toBeUndefined();
    expect(begin(200, tool, 'other').refusal).toBeUndefined();
    expect(begin(200).refusal).toBeDefined();
  });
});
