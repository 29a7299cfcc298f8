/** An effect that was started: its call, its session, and its outcome's record once it has one. */
export type RunningEffect = Readonly<{ call: string; session: string }> & {
  outcomeId: string | undefined;
};

/** The effects of a partition that run, by call, by session and by outcome: each is asked for with every record. */
export class RunningEffects<E extends RunningEffect> {
  private readonly byCall = new Map<string, E>();
  private readonly bySession = new Map<string, Set<E>>();
  private readonly byOutcome = new Map<string, E>();

  get size(): number {
    return this.byCall.size;
  }

  has(call: string): boolean {
    return this.byCall.has(call);
  }

  /** Whether this very effect still counts. */
  holds(effect: E): boolean {
    return this.byCall.get(effect.call) === effect;
  }

  add(effect: E): void {
    this.byCall.set(effect.call, effect);
    const known = this.bySession.get(effect.session);
    if (known === undefined) this.bySession.set(effect.session, new Set([effect]));
    else known.add(effect);
  }

  /** Its outcome is on its way, under this id. */
  ends(effect: E, outcomeId: string): void {
    effect.outcomeId = outcomeId;
    if (this.holds(effect)) this.byOutcome.set(outcomeId, effect);
  }

  ofOutcome(outcomeId: string): E | undefined {
    return this.byOutcome.get(outcomeId);
  }

  of(session: string): Iterable<E> {
    return this.bySession.get(session) ?? [];
  }

  all(): Iterable<E> {
    return this.byCall.values();
  }

  remove(effect: E): void {
    if (!this.holds(effect)) return;
    this.byCall.delete(effect.call);
    if (effect.outcomeId !== undefined) this.byOutcome.delete(effect.outcomeId);
    const others = this.bySession.get(effect.session);
    others?.delete(effect);
    if (others?.size === 0) this.bySession.delete(effect.session);
  }

  clear(): void {
    this.byCall.clear();
    this.bySession.clear();
    this.byOutcome.clear();
  }
}
