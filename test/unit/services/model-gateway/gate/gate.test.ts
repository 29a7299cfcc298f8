import { describe, expect, it } from 'vitest';
import { breakerDefaults } from '../../../../../services/model-gateway/gate/breaker.ts';
import { Gate, type Wish } from '../../../../../services/model-gateway/gate/gate.ts';
import type { GateRules } from '../../../../../services/model-gateway/gate/rules.ts';
import { Share } from '../../../../../services/model-gateway/gate/share.ts';
import { Window, windowMs } from '../../../../../services/model-gateway/gate/window.ts';
import type {
  ModelFailure,
  ModelOutcome,
} from '../../../../../services/model-gateway/providers/port.ts';

const fail = (error: Partial<ModelFailure>): ModelOutcome => ({
  kind: 'failed',
  error: { code: 'X', message: 'x', class: 'overloaded', retryable: true, ...error },
});
const usage = { inputTokens: 60, outputTokens: 40, cacheReadTokens: 0 };
const answered = {
  kind: 'completed',
  usage: { ...usage, cacheWriteTokens: 0, reasoningTokens: 0 },
} as ModelOutcome;

function wish(call: string, changes: Partial<Wish> = {}): Wish {
  const named = { call, session: `ses_${call}`, tenant: 'acme' };
  return { ...named, provider: 'a', model: 'a/m', tokens: 500, ...changes };
}

function gateOf(rules: Partial<GateRules>) {
  const looked: string[] = [];
  const whole = { providers: {}, tenants: {}, breaker: breakerDefaults, ...rules };
  const gate = new Gate(whole, (session) => looked.push(session));
  gate.heard(1, 0);
  return { gate, looked };
}

const go = (gate: Gate, one: Wish, nowMs = 0): void => {
  expect(gate.hold(one, nowMs)).toBeUndefined();
  gate.begin(one, { nowMs, deadlineAtMs: nowMs + 60_000 });
};

describe('calls at once', () => {
  it('are held to the limit, and who waits is looked at when one ends, in order', () => {
    const { gate, looked } = gateOf({ providers: { a: { concurrentMax: 2 } } });
    go(gate, wish('1'));
    go(gate, wish('2'));
    expect(gate.hold(wish('3'), 0)).toEqual({ not: 'busy' });
    expect(gate.hold(wish('4'), 0)).toEqual({ not: 'busy' });
    gate.end(wish('1'), answered, 5);
    // Nobody asked when it was looked at: both leave the line.
    expect(looked).toEqual(['ses_3', 'ses_4']);
    expect(gate.hold(wish('3'), 5)).toBeUndefined();
  });

  it('count what is held for a decision, once, and get it back when it is not wanted', () => {
    const { gate } = gateOf({ providers: { a: { concurrentMax: 1 } } });
    expect(gate.hold(wish('1'), 0)).toBeUndefined();
    expect(gate.hold(wish('1'), 1)).toBeUndefined();
    expect(gate.hold(wish('2'), 1)).toEqual({ not: 'busy' });
    gate.keepOnly('ses_1', new Set());
    expect(gate.hold(wish('2'), 1)).toBeUndefined();
  });

  it('a hold that nobody uses ends by itself', () => {
    const { gate } = gateOf({ providers: { a: { concurrentMax: 1 } } });
    expect(gate.hold(wish('1'), 0)).toBeUndefined();
    expect(gate.hold(wish('2'), 29_999)).toEqual({ not: 'busy' });
    expect(gate.hold(wish('2'), 30_000)).toBeUndefined();
  });
});

describe('rates', () => {
  it('of requests: as many as the limit in any minute', () => {
    const { gate } = gateOf({ providers: { a: { requestsPerMinute: 2 } } });
    go(gate, wish('1'), 0);
    go(gate, wish('2'), 10_000);
    expect(gate.hold(wish('3'), 20_000)).toEqual({ not: 'rate-limited', untilMs: windowMs });
    expect(gate.hold(wish('3'), windowMs)).toBeUndefined();
  });

  it('of tokens: the most that a call may use, then what it did use', () => {
    const { gate } = gateOf({ providers: { a: { tokensPerMinute: 1_000 } } });
    go(gate, wish('1'));
    go(gate, wish('2'));
    expect(gate.hold(wish('3'), 1)).toMatchObject({ not: 'rate-limited' });
    gate.end(wish('1'), answered, 1);
    expect(gate.hold(wish('3', { tokens: 400 }), 1)).toBeUndefined();
  });

  it('one call that is larger than the limit goes alone', () => {
    const { gate } = gateOf({ providers: { a: { tokensPerMinute: 100 } } });
    go(gate, wish('1'));
    expect(gate.hold(wish('2', { tokens: 1 }), 1)).toMatchObject({ not: 'rate-limited' });
  });

  it('of a tenant: those that are not named have the limit of * each', () => {
    const tenants = { '*': { requestsPerMinute: 1 }, big: { requestsPerMinute: 2 } };
    const { gate } = gateOf({ tenants });
    go(gate, wish('1'));
    expect(gate.hold(wish('2'), 0)).toEqual({ not: 'tenant-rate-limited', untilMs: windowMs });
    go(gate, wish('3', { tenant: 'other' }));
    go(gate, wish('4', { tenant: 'big' }));
    go(gate, wish('5', { tenant: 'big' }));
  });
});

describe('a breaker', () => {
  const { failuresMax, coolMs } = breakerDefaults;
  const failing = () => {
    const { gate } = gateOf({});
    for (let count = 0; count < failuresMax; count += 1) {
      go(gate, wish(`${count}`));
      gate.end(wish(`${count}`), fail({}), 0);
    }
    return gate;
  };

  it('opens after so many failures in a row, for that model only', () => {
    const gate = failing();
    expect(gate.hold(wish('x'), 1)).toEqual({ not: 'breaker-open', untilMs: coolMs });
    expect(gate.hold(wish('y', { model: 'a/other' }), 1)).toBeUndefined();
  });

  it('lets one probe through, and closes when that answers', () => {
    const gate = failing();
    go(gate, wish('probe'), coolMs);
    expect(gate.hold(wish('x'), coolMs)).toMatchObject({ not: 'breaker-open' });
    gate.end(wish('probe'), answered, coolMs + 5);
    expect(gate.hold(wish('x'), coolMs + 5)).toBeUndefined();
  });

  it('stays open for twice as long when the probe fails', () => {
    const gate = failing();
    go(gate, wish('probe'), coolMs);
    gate.end(wish('probe'), fail({}), coolMs);
    expect(gate.hold(wish('x'), coolMs)).toEqual({ not: 'breaker-open', untilMs: 3 * coolMs });
  });

  it('does not open because requests are refused as wrong', () => {
    const { gate } = gateOf({});
    for (let count = 0; count < 20; count += 1) {
      go(gate, wish(`${count}`));
      gate.end(wish(`${count}`), fail({ class: 'invalid-request', retryable: false }), 0);
    }
    expect(gate.hold(wish('x'), 0)).toBeUndefined();
  });

  it('keeps the wait that a provider asks for', () => {
    const { gate } = gateOf({});
    go(gate, wish('1'));
    gate.end(wish('1'), fail({ class: 'rate-limited', retryAfterMs: 7_000 }), 0);
    expect(gate.hold(wish('2'), 6_999)).toEqual({ not: 'retry-after', untilMs: 7_000 });
    expect(gate.hold(wish('2'), 7_000)).toBeUndefined();
  });
});

describe('the part of one host', () => {
  it('is the least until it has heard itself, then one of equal parts', () => {
    const share = new Share();
    expect(share.of(100, 0)).toBe(1);
    share.heard(4, 0);
    expect(share.of(100, 0)).toBe(25);
    expect(share.of(2, 0)).toBe(1);
  });

  it('shrinks at once, and grows one minute after a host went', () => {
    const share = new Share();
    share.heard(1, 0);
    share.heard(2, 1_000);
    expect(share.of(100, 1_000)).toBe(50);
    share.heard(1, 2_000);
    share.heard(1, 30_000);
    expect(share.of(100, 61_999)).toBe(50);
    expect(share.of(100, 62_000)).toBe(100);
  });

  /** Hosts that take all they get, while others come and go: the most that all took in a minute. */
  function mostInAMinute(limit: number, changes: readonly { atMs: number; hosts: number }[]) {
    const hosts: { share: Share; window: Window; bornMs: number; deadMs: number }[] = [];
    const taken: number[] = [];
    for (let nowMs = 0; nowMs < 300_000; nowMs += 250) {
      const wanted = changes.filter(({ atMs }) => atMs <= nowMs).at(-1)?.hosts ?? 1;
      const alive = hosts.filter((one) => one.deadMs > nowMs);
      for (let n = alive.length; n < wanted; n += 1)
        hosts.push({ share: new Share(), window: new Window(), bornMs: nowMs, deadMs: Infinity });
      for (const one of alive.slice(wanted)) one.deadMs = nowMs;
      const now = hosts.filter((one) => one.deadMs > nowMs);
      for (const { share, window } of now) {
        share.heard(now.length, nowMs);
        while (window.readyAtMs(1, share.of(limit, nowMs), nowMs) <= nowMs) {
          window.take(1, nowMs);
          taken.push(nowMs);
        }
      }
    }
    return Math.max(...taken.map((at) => taken.filter((t) => t >= at && t < at + windowMs).length));
  }

  it('never lets more than the limit through when hosts go, and less than twice when they come', () => {
    expect(
      mostInAMinute(60, [
        { atMs: 0, hosts: 3 },
        { atMs: 90_000, hosts: 2 },
        { atMs: 95_000, hosts: 1 },
      ]),
    ).toBe(60);
    const joined = mostInAMinute(60, [
      { atMs: 0, hosts: 1 },
      { atMs: 90_000, hosts: 3 },
    ]);
    expect(joined).toBeLessThanOrEqual(60 + (60 * 2) / 3);
    expect(joined).toBeGreaterThan(60);
  });
});
