/** Money while a decision hands it out, call by call: of the session, of its tasks, of the day. */

import { taskOfPlan } from '../chassis/catalog/child-task.ts';
import { memberOf } from '../chassis/effects/member.ts';
import { budgetLogId } from '../chassis/protocol/ids.ts';
import { heldNanoUsd, type Quote } from './budget.ts';
import { heldByChildren } from './children.ts';
import type { NotAskedBecause } from './route.ts';
import type { ModelCallEntry, ModelGatewayState } from './state.ts';
import { type DayLimit, dayOf, type Tranche, type Want } from './tranche.ts';

export type Day = Readonly<{ limit: DayLimit; tenant: string; nowMs: number }>;

export class Purse {
  private readonly state: ModelGatewayState;
  private readonly day: Day | undefined;
  private held: number;
  /** What this decision took so far, by pot. */
  private readonly taken = new Map<string, number>();
  private wanted: Want | undefined;

  constructor(state: ModelGatewayState, day?: Day) {
    this.state = state;
    this.day = day;
    this.held = heldNanoUsd(state);
  }

  /** What is left of the goal's budget; 0 where it set none. */
  get leftNanoUsd(): number {
    return this.sessionLeft() ?? 0;
  }

  /** Whether money may come back that calls hold. */
  get mayGrow(): boolean {
    return this.held > 0;
  }

  /** What calls lack of the money of the day. */
  get want(): Want | undefined {
    return this.wanted;
  }

  /** Whether anything limits what this call may cost. */
  limits(entry: ModelCallEntry): boolean {
    const { budgetNanoUsd, tasks = {} } = this.state;
    if (budgetNanoUsd !== null || this.day !== undefined) return true;
    return memberOf(tasks, taskOfPlan(entry.task)) !== undefined;
  }

  /** Why such a call cannot be paid, whatever comes back; undefined where it can. */
  refuses(entry: ModelCallEntry, quote: Quote): NotAskedBecause | undefined {
    if (!this.limits(entry)) return undefined;
    if (!quote.known) return 'no-price';
    const { costNanoUsd } = quote;
    if (costNanoUsd > (this.sessionLeft() ?? Infinity)) return 'too-dear';
    if (costNanoUsd > (this.taskLeft(entry.task) ?? Infinity)) return 'task-budget';
    if (this.lacks(entry, quote) && this.tranche(entry)?.refused !== undefined) return 'day-budget';
    return undefined;
  }

  /** Whether more of the day has to be borrowed for it first. */
  lacks(entry: ModelCallEntry, { costNanoUsd }: Quote): boolean {
    const left = this.dayLeft(entry);
    return left !== undefined && costNanoUsd > left;
  }

  /** Borrow it. */
  borrow({ costNanoUsd }: Quote): void {
    const { sumNanoUsd = 0, leastNanoUsd = costNanoUsd } = this.wanted ?? {};
    this.wanted = {
      sumNanoUsd: sumNanoUsd + costNanoUsd,
      leastNanoUsd: Math.min(leastNanoUsd, costNanoUsd),
    };
  }

  /** Takes what the call may cost out of all of them. */
  take(entry: ModelCallEntry, { costNanoUsd }: Quote): void {
    const log = this.logOf(entry);
    for (const pot of [
      'session',
      `task ${taskOfPlan(entry.task)}`,
      ...(log === undefined ? [] : [log]),
    ])
      this.taken.set(pot, (this.taken.get(pot) ?? 0) + costNanoUsd);
    this.held += costNanoUsd;
  }

  /** The log whose money the call takes; a claim that is made again takes it where it did before. */
  logOf(entry: ModelCallEntry): string | undefined {
    if (this.day === undefined) return undefined;
    const today = budgetLogId(this.day.tenant, dayOf(this.day.nowMs));
    return entry.claims > 0 ? (entry.budgetLog ?? today) : today;
  }

  /** What a task may still spend, its branches and rounds together; undefined where it has no budget of its own. */
  taskLeft(task: string): number | undefined {
    const owner = taskOfPlan(task);
    const known = memberOf(this.state.tasks ?? {}, owner);
    if (known === undefined) return undefined;
    const held =
      this.heldBy((entry) => taskOfPlan(entry.task) === owner) +
      heldByChildren(this.state, (one) => one.task === owner);
    const taken = this.taken.get(`task ${owner}`) ?? 0;
    return Math.max(0, known.budgetNanoUsd - known.spentNanoUsd - held - taken);
  }

  /** What may be put aside for one child session of a task: of the session's money, and of the task's own. */
  shareOf(task: string, { all, ofTask }: Readonly<{ all: number; ofTask: number }>) {
    const session = this.sessionLeft() ?? Infinity;
    const own = this.taskLeft(task) ?? Infinity;
    const left = Math.min(session, own);
    const share = Math.min(session / Math.max(1, all), own / Math.max(1, ofTask));
    if (!Number.isFinite(left)) return { leftNanoUsd: 0, allottedNanoUsd: 0 };
    return { leftNanoUsd: left, allottedNanoUsd: Math.floor(share) };
  }

  /** Puts it aside. */
  takeForChild(task: string, nanoUsd: number): void {
    const pot = `task ${taskOfPlan(task)}`;
    this.taken.set(pot, (this.taken.get(pot) ?? 0) + nanoUsd);
    this.held += nanoUsd;
  }

  tranche(entry: ModelCallEntry): Tranche | undefined {
    const log = this.logOf(entry);
    return log === undefined ? undefined : memberOf(this.state.tranches ?? {}, log);
  }

  private sessionLeft(): number | undefined {
    const { budgetNanoUsd, spentNanoUsd } = this.state;
    return budgetNanoUsd === null
      ? undefined
      : Math.max(0, budgetNanoUsd - spentNanoUsd - this.held);
  }

  private dayLeft(entry: ModelCallEntry): number | undefined {
    const log = this.logOf(entry);
    if (log === undefined) return undefined;
    const tranche = memberOf(this.state.tranches ?? {}, log);
    if (tranche === undefined || tranche.returned === true) return 0;
    const held = this.heldBy(({ budgetLog }) => budgetLog === log);
    const taken = this.taken.get(log) ?? 0;
    return Math.max(0, tranche.lentNanoUsd - tranche.spentNanoUsd - held - taken);
  }

  private heldBy(isMeant: (entry: ModelCallEntry) => boolean): number {
    let sum = 0;
    for (const entry of Object.values(this.state.calls))
      if (isMeant(entry)) sum += entry.heldNanoUsd ?? 0;
    return sum;
  }
}
