import type { Answer, Answerer, Call } from './answers.ts';
import { factsFor } from './facts.ts';
import type { Rehearsal } from './rehearsal.ts';

/**
 * What would happen after the paths parted: services decide in memory, time is that of the log, calls are answered by
 * the record or by mocks. A call that nobody can answer ends it: what would come then is not guessed.
 */

export type Played = Readonly<{
  ended: 'closed' | 'unanswered' | 'quiet' | 'limit';
  unanswered: readonly Call[];
  answers: Readonly<Record<Answer['from'], number>>;
}>;

const recordsMax = 20_000;

type Waiting = Readonly<{ dueAtMs: number; call: string; claim: string; answer: Answer }>;

export class PlayOn {
  private readonly rehearsal: Rehearsal;
  private readonly answerer: Answerer;
  private readonly waiting = new Map<string, Waiting>();
  private readonly unanswered = new Map<string, Call>();
  private readonly answers = { record: 0, mock: 0, live: 0 };

  constructor(rehearsal: Rehearsal, answerer: Answerer) {
    this.rehearsal = rehearsal;
    this.answerer = answerer;
  }

  run(): Played {
    const { stage } = this.rehearsal;
    for (;;) {
      while (this.decideAll()) if (stage.made.length > recordsMax) return this.played('limit');
      if (stage.core.status === 'closed') return this.played('closed');
      this.askAll();
      if (!this.step()) return this.played(this.unanswered.size > 0 ? 'unanswered' : 'quiet');
    }
  }

  private played(ended: Played['ended']): Played {
    return { ended, unanswered: [...this.unanswered.values()], answers: this.answers };
  }

  /** Every service that has something to answer decides once. Answers whether anything was decided. */
  private decideAll(): boolean {
    const { stage, facts: recorded } = this.rehearsal;
    let moved = false;
    for (const logic of stage.logics) {
      const { name } = logic;
      const entry = stage.entryOf(name);
      if (entry === undefined || stage.core.status === 'closed') continue;
      if (entry.causes.length === 0 && Object.keys(entry.outbox).length === 0) continue;
      const facts = factsFor(name, entry, { nowMs: stage.nowMs, recorded });
      const turn = stage.decide(logic, entry, facts);
      stage.answered(name);
      if (turn === undefined) continue;
      this.rehearsal.append(turn);
      moved = true;
    }
    return moved;
  }

  /** Asks for the answer of every call that was claimed and not asked for yet. */
  private askAll(): void {
    const { stage, book } = this.rehearsal;
    for (const [call, open] of Object.entries(stage.core.calls)) {
      const known = `${call} ${open.claim}`;
      if (open.status !== 'claimed' || this.waiting.has(known) || this.unanswered.has(known))
        continue;
      const asked = book.find(call);
      const made = asked === undefined ? undefined : { ...asked, claim: open };
      const answer = made === undefined ? undefined : this.answerer(made);
      if (made === undefined) continue;
      if (answer === undefined) this.unanswered.set(known, made);
      else {
        const dueAtMs = stage.nowMs + answer.afterMs;
        this.waiting.set(known, { dueAtMs, call, claim: open.claim, answer });
      }
    }
  }

  /** The next thing that comes by itself: an outcome, or a timer. Answers whether there was one. */
  private step(): boolean {
    const { stage } = this.rehearsal;
    const open = [...this.waiting].filter(([, { call }]) => stage.core.calls[call] !== undefined);
    const [first] = open.toSorted(([, a], [, b]) => a.dueAtMs - b.dueAtMs);
    const timers = Object.entries(stage.core.timers).toSorted(
      ([, a], [, b]) => a.dueAtMs - b.dueAtMs,
    );
    const [timer] = timers;
    const outcomeAtMs = first?.[1].dueAtMs ?? Number.POSITIVE_INFINITY;
    // A timer may be there for a call whose answer is not known.
    const mayFire = timer !== undefined && this.unanswered.size === 0;
    if (mayFire && timer[1].dueAtMs <= outcomeAtMs) {
      stage.nowMs = Math.max(stage.nowMs, timer[1].dueAtMs);
      stage.fire(timer[0]);
      return true;
    }
    if (first === undefined) return false;
    const [known, { dueAtMs, claim, answer }] = first;
    this.waiting.delete(known);
    this.answers[answer.from] += 1;
    stage.nowMs = Math.max(stage.nowMs, dueAtMs);
    stage.outcome(claim, answer.draft);
    return true;
  }
}
