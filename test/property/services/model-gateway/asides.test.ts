import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Draft, event, json, text } from '../../../../schemas/event.ts';
import { delegatedBy } from '../../../../services/chassis/catalog/child-task.ts';
import { asideOf } from '../../../../services/model-gateway/asides.ts';
import { modelGatewayLogic } from '../../../../services/model-gateway/decide.ts';
import { Purse } from '../../../../services/model-gateway/purse.ts';
import { setAsides } from '../../../../services/model-gateway/set-aside.ts';
import type { ModelGatewayState } from '../../../../services/model-gateway/state.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { acceptedPlan, openedSession } from '../../../support/money-of-delegates.ts';

/** What was set aside, spent and held, whatever agents delegate, call and end in which order. */

type Open = { task: string; calls: { call: string; reservedNanoUsd: number }[]; made: number };

class Money {
  readonly bench = new BenchSession([{ logic: modelGatewayLogic }]);
  readonly open: Open[] = [{ task: 'one', calls: [], made: 0 }];
  private calls = 0;

  constructor(budgets: Readonly<{ goal?: number; task?: number }>) {
    this.bench.append([openedSession(budgets.goal)], 'intake');
    this.bench.append([acceptedPlan(budgets.task)], 'planner');
  }

  get state(): ModelGatewayState {
    return this.bench.state('model-gateway') as ModelGatewayState;
  }

  private write(drafts: readonly Draft[], service: string): void {
    this.bench.append(drafts, service);
  }

  /** One step, chosen by numbers. */
  step(kind: number, which: number, amount: number): void {
    const open = this.open[which % this.open.length];
    if (open === undefined) return;
    if (kind === 0) this.delegate(open, (amount % 100) + 1);
    else if (kind === 1) this.call(open, amount);
    else if (kind === 2) this.answer(open, amount);
    else this.end(open);
  }

  private delegate(by: Open, budgetPercent: number): void {
    by.made += 1;
    const delegated = `${by.task}/${by.made}`;
    const of = {
      delegated,
      kind: 'delegate',
      task: by.task,
      attempt: 1,
      agent: `${by.task}.1`,
    } as const;
    const how = { agentName: 'a', call: delegated, step: 1, to: 'a', ordinal: by.made } as const;
    const data = { ...of, ...how, depth: 1, depthMax: 8, handoffs: 0, budgetPercent };
    this.write([event('task.delegated', data, { input: json({}) })], 'worker-pool:p');
    this.write(setAsides(this.state, new Purse(this.state)), 'model-gateway');
    this.open.push({ task: delegated, calls: [], made: 0 });
  }

  private call(by: Open, costNanoUsd: number): void {
    const call = `call-${++this.calls}`;
    const asked = { call, agent: `${by.task}.1`, task: by.task, attempt: 1, step: 1 };
    const limits = { model: 'a/b', outputTokensMax: 1, timeoutMs: 1_000, tools: [] };
    const request = { ...asked, agentName: 'a', ...limits };
    const said = { messages: json([{ role: 'user', text: 'x' }]) };
    this.write([event('model.requested', request, said)], 'worker-pool:p');
    const entry = this.state.calls[call];
    const purse = new Purse(this.state);
    const quote = { inputTokensMost: 1, costNanoUsd, known: true, priceVersion: 'p' };
    if (entry === undefined) throw new Error('the gateway does not know the call');
    if (purse.refuses(entry, quote) !== undefined) {
      this.write(
        [event('model.denied', { call, code: 'BUDGET_EXHAUSTED' }, { message: text('No.') })],
        'x',
      );
      return;
    }
    purse.take(entry, quote);
    const price = { priceVersion: 'p', inputTokensMost: 1, outputTokensMax: 1 };
    const left = { reservedNanoUsd: costNanoUsd, leftNanoUsd: purse.leftNanoUsd };
    this.write(
      [
        event('budget.reserved', { call, attempt: 1, ...left, ...price }),
        event('model.claimed', { call, attempt: 1, model: 'a/b', deadlineAtMs: 2_000_000 }),
      ],
      'model-gateway',
    );
    by.calls.push({ call, reservedNanoUsd: costNanoUsd });
  }

  private answer(by: Open, amount: number): void {
    const made = by.calls.shift();
    if (made === undefined) return;
    const tokens = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const costNanoUsd = Math.min(amount, made.reservedNanoUsd);
    const from = {
      provider: 'a',
      model: 'b',
      finishReason: 'stop',
      durationMs: 1,
      toolCalls: 0,
    } as const;
    const cost = { costNanoUsd, costKnown: true, priceVersion: 'p', reasoningTokens: 0 };
    const data = { call: made.call, claim: 'c#0', attempt: 1, ...from, ...tokens, ...cost };
    this.write([event('model.completed', data, { message: json({ text: '' }) })], 'input');
  }

  /** Ends delegated work that waits for nobody. */
  end(of: Open): void {
    const waits = this.open.some(({ task }) => task.startsWith(`${of.task}/`));
    if (of.task === 'one' || waits) return;
    while (of.calls.length > 0) this.answer(of, 0);
    this.open.splice(this.open.indexOf(of), 1);
    const data = { task: of.task, attempt: 1, agent: `${of.task}.1` };
    this.write([event('task.completed', data, { output: json(null) })], 'worker-pool:p');
  }

  endAll(): void {
    for (const open of [...this.open].reverse()) this.end(open);
    for (const open of this.open) while (open.calls.length > 0) this.answer(open, 0);
  }
}

const steps = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 3 }), fc.nat(50), fc.integer({ min: 0, max: 60 })),
  { maxLength: 60 },
);

const heldBelow = ({ calls }: ModelGatewayState, task: string): number =>
  Object.values(calls)
    .filter((one) => one.task === task || one.task.startsWith(`${task}/`))
    .reduce((sum, { heldNanoUsd = 0 }) => sum + heldNanoUsd, 0);

type Budgets = Readonly<{ goal?: number; task?: number }>;

const mostOf = ({ goal = Infinity, task = Infinity }: Budgets): number => Math.min(goal, task);

/** No delegate has more than its part, and all parts together no more than there is. */
function check({ state }: Money, budgets: Budgets): void {
  const { asides = {} } = state;
  const rest = (task: string): number => {
    const { setAsideNanoUsd = 0, spentNanoUsd = 0 } = asides[task] ?? {};
    return setAsideNanoUsd - spentNanoUsd - heldBelow(state, task);
  };
  for (const task of Object.keys(asides)) expect(rest(task)).toBeGreaterThanOrEqual(0);
  const purse = new Purse(state);
  const left = Math.min(
    purse.taskLeft('one') ?? Infinity,
    budgets.goal === undefined ? Infinity : purse.leftNanoUsd,
  );
  const outermost = Object.keys(asides).filter(
    (task) => asideOf(asides, delegatedBy(task)) === undefined,
  );
  const aside = outermost.reduce((sum, task) => sum + rest(task), 0);
  const gone = state.spentNanoUsd + heldBelow(state, 'one');
  expect(left + aside + gone).toBeLessThanOrEqual(mostOf(budgets));
}

describe('money that is set aside', () => {
  test.each<Budgets>([{ goal: 1_000 }, { task: 1_000 }, { goal: 900, task: 1_000 }])(
    'of %j is never spent twice, and comes back',
    (budgets) => {
      fc.assert(
        fc.property(steps, (all) => {
          const money = new Money(budgets);
          for (const [kind, which, amount] of all) {
            money.step(kind, which, amount);
            check(money, budgets);
          }
          money.endAll();
          const { state } = money;
          expect(state.asides ?? {}).toEqual({});
          const purse = new Purse(state);
          const left = budgets.task === undefined ? purse.leftNanoUsd : purse.taskLeft('one');
          expect(left).toBe((budgets.task ?? budgets.goal ?? 0) - state.spentNanoUsd);
        }),
        { numRuns: 150 },
      );
    },
  );
});
