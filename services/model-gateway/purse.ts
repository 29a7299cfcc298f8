/** Money while a decision hands it out, call by call: of the session, of its tasks, of the day. */

import { delegatedBy, taskOfPlan } from '../chassis/catalog/child-task.ts';
import { memberOf, withMember } from '../chassis/effects/member.ts';
import { budgetLogId } from '../chassis/protocol/ids.ts';
import { asideOf, delegatorsOf } from './asides.ts';
import { heldByChildren, heldNanoUsd } from './budget.ts';
import type { NotAskedBecause } from './not-asked.ts';
import type { Asides, ModelCallEntry, ModelGatewayState, Quote, Tranche } from './state.ts';
import { type DayLimit, dayOf, type Want } from './tranche.ts';

export type Day = Readonly<{ limit: DayLimit; tenant: string; nowMs: number }>;

const isWithin = (task: string, delegated: string): boolean =>
  task === delegated || task.startsWith(`${delegated}/`);

export class Purse {
  private readonly state: ModelGatewayState;
  private readonly day: Day | undefined;
  private held: number;
  /** What this decision took so far, by pot. */
  private readonly taken = new Map<string, number>();
  private wanted: Want | undefined;
  /** With what this decision sets aside. */
  private asides: Asides;

  constructor(state: ModelGatewayState, day?: Day) {
    this.state = state;
    this.day = day;
    this.held = heldNanoUsd(state);
    this.asides = state.asides ?? {};
  }

  /** What is left of the goal's budget; 0 where it set none. */
  get leftNanoUsd(): number {
    return this.sessionLeft() ?? 0;
  }

  /** Whether money may come back to the budget of this call: of other calls, and of delegates that it does not belong to. */
  mayGrow({ task }: ModelCallEntry): boolean {
    const own = asideOf(this.asides, task);
    if (own !== undefined) return this.heldBy((one) => isWithin(one.task, own)) > 0;
    return this.held > 0 || this.unspentOf(this.asidesIn(undefined)) > 0;
  }

  /** What calls lack of the money of the day. */
  get want(): Want | undefined {
    return this.wanted;
  }

  /** Whether anything limits what this call may cost. */
  limits(entry: ModelCallEntry): boolean {
    const { budgetNanoUsd, tasks = {} } = this.state;
    if (budgetNanoUsd !== null || this.day !== undefined) return true;
    if (asideOf(this.asides, entry.task) !== undefined) return true;
    return memberOf(tasks, taskOfPlan(entry.task)) !== undefined;
  }

  /** Why such a call cannot be paid, whatever comes back; undefined where it can. */
  refuses(entry: ModelCallEntry, quote: Quote): NotAskedBecause | undefined {
    if (!this.limits(entry)) return undefined;
    if (!quote.known) return 'no-price';
    const { costNanoUsd } = quote;
    const own = asideOf(this.asides, entry.task);
    // What was set aside for it is none of the others' any more.
    if (own === undefined && costNanoUsd > (this.sessionLeft() ?? Infinity)) return 'too-dear';
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
      ...delegatorsOf(entry.task).map((one) => `aside ${one}`),
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

  /**
   * What a task may still spend, its branches and rounds together, or what is left of what was set aside for it;
   * undefined where it has no budget of its own.
   */
  taskLeft(task: string): number | undefined {
    const aside = asideOf(this.asides, task);
    if (aside !== undefined) return this.asideLeft(aside);
    const owner = taskOfPlan(task);
    const known = memberOf(this.state.tasks ?? {}, owner);
    if (known === undefined) return undefined;
    const held =
      this.heldBy((entry) => taskOfPlan(entry.task) === owner) +
      heldByChildren(this.state, (one) => one.task === owner);
    const taken = this.taken.get(`task ${owner}`) ?? 0;
    const delegated = this.unspentOf(this.asidesIn(undefined, owner));
    return Math.max(0, known.budgetNanoUsd - known.spentNanoUsd - held - taken - delegated);
  }

  /** What is left where delegated work comes from: of what was set aside there, else of the session and the task. */
  leftAround(delegated: string): number {
    const by = delegatedBy(delegated) ?? delegated;
    const around = asideOf(this.asides, by);
    if (around !== undefined) return this.asideLeft(around);
    return Math.min(this.sessionLeft() ?? Infinity, this.taskLeft(by) ?? Infinity);
  }

  /** Sets so much aside for it. */
  setAside(delegated: string, setAsideNanoUsd: number): void {
    const known = memberOf(this.asides, delegated);
    if (known !== undefined)
      this.asides = withMember(this.asides, delegated, { ...known, setAsideNanoUsd });
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
      : Math.max(
          0,
          budgetNanoUsd - spentNanoUsd - this.held - this.unspentOf(this.asidesIn(undefined)),
        );
  }

  private asideLeft(task: string): number {
    return Math.max(0, this.unspent(task) - this.unspentOf(this.asidesIn(task)));
  }

  /** Of what was set aside for it: not spent, and held by no call. */
  private unspent(task: string): number {
    const { setAsideNanoUsd = 0, spentNanoUsd = 0 } = memberOf(this.asides, task) ?? {};
    const held = this.heldBy((entry) => isWithin(entry.task, task));
    const taken = this.taken.get(`aside ${task}`) ?? 0;
    return Math.max(0, setAsideNanoUsd - spentNanoUsd - held - taken);
  }

  private unspentOf(tasks: readonly string[]): number {
    return tasks.reduce((sum, task) => sum + this.unspent(task), 0);
  }

  /** Delegated work whose money was taken straight from that of this one; of the budgets of the plan where it is undefined. */
  private asidesIn(around: string | undefined, owner?: string): readonly string[] {
    return Object.keys(this.asides).filter(
      (task) =>
        asideOf(this.asides, delegatedBy(task)) === around &&
        (owner === undefined || taskOfPlan(task) === owner),
    );
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
