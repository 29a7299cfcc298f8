import type { Draft, InputEventType, SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import { toError } from '../errors.ts';
import type { AppendError } from '../log/append-error.ts';
import type { EventRecord } from '../protocol/event-record.ts';
import { outcomeId } from '../protocol/ids.ts';
import type { InputBody } from '../protocol/record.ts';
import { saltOf, sealEvent } from '../protocol/seal.ts';
import type { ServiceEntry } from '../protocol/service-fold.ts';
import { addressOf, type LostReason, type SessionMeta } from '../protocol/service-logic.ts';
import type { SessionCore } from '../protocol/session-core.ts';
import {
  type CallNote,
  claimAttributes,
  outcomeAttributes,
  spanNameOf,
} from '../telemetry/span-attributes.ts';
import type { HostIdentity } from './ownership.ts';
import { persist } from './persistence.ts';
import type { EffectJob, HostedService, HostPorts, OpenSpan } from './ports.ts';
import { type RunningEffect, RunningEffects } from './running-effects.ts';
import type { PartitionWriter } from './writer.ts';

type Running = RunningEffect &
  Readonly<{ claim: string; service: HostedService; job: EffectJob; abort: AbortController }>;

type Outcome = Readonly<{
  session: SessionMeta;
  traceparent: string;
  draft: Draft<InputEventType>;
  isReplacement?: true;
  /** Of the effect, as long as it is open. */
  span?: OpenSpan;
}>;

/**
 * Effects of one partition (DESIGN 3.9).
 *
 * E1 An effect starts once per claim, only for a claim that this process put in flight and read back as effective.
 * E2 A running effect stays in the table until its outcome was read back, whoever owns the partition by then.
 * E3 An outcome is an input whose id follows from call and claim: repeats and doubles are harmless.
 * E4 An outcome that the broker refuses is sent again; where it never will be taken, a failure that fits takes its place.
 */
export class EffectTable {
  private readonly running = new RunningEffects<Running>();
  private readonly ports: HostPorts;
  private readonly writer: Pick<PartitionWriter, 'push'>;
  private readonly identity: HostIdentity;
  private readonly onLost: (session: string) => void;
  private readonly noteOf: (call: string) => CallNote | undefined;

  constructor(
    parts: {
      ports: HostPorts;
      writer: Pick<PartitionWriter, 'push'>;
      identity: HostIdentity;
      watch?: { noteOf(call: string): CallNote | undefined };
    },
    onLost: (session: string) => void,
  ) {
    this.noteOf = (call) => parts.watch?.noteOf(call);
    this.ports = parts.ports;
    this.writer = parts.writer;
    this.identity = parts.identity;
    this.onLost = onLost;
  }

  /** Own claims of a turn that was read back: start what the state still allows. */
  startAll(
    service: HostedService,
    claims: readonly SeenEvent[],
    at: { entry: ServiceEntry; traceparent: string },
  ): void {
    const { state, core } = at.entry;
    const { traceparent } = at;
    for (const claim of claims)
      this.start(service, { claim, state, session: core.meta, traceparent });
  }

  private start(
    service: HostedService,
    at: {
      claim: SeenEvent;
      state: unknown;
      session: SessionMeta;
      traceparent: string;
    },
  ): void {
    const { claim, state, session } = at;
    const job = service.effects?.jobOf(claim, state, session);
    if (job === undefined || this.running.has(job.call)) return;
    const entry: Running = {
      call: job.call,
      claim: addressOf(claim),
      session: session.session,
      service,
      job,
      abort: new AbortController(),
      outcomeId: undefined,
    };
    this.running.add(entry);
    const late = this.ports.clock.nowMs() > job.deadlineAtMs;
    // Also when the partition was taken away meanwhile: nobody else carries this claim out.
    const allowed = service.effects?.mayRun(state, job.call) === true;
    if ((late || !allowed) && !ablated('9c')) {
      this.finish(entry, {
        session,
        traceparent: at.traceparent,
        draft: job.notStarted(late ? 'timeout' : 'cancelled'),
      });
      return;
    }
    this.run(job, entry, { claim, session, traceparent: at.traceparent });
  }

  private run(
    job: EffectJob,
    entry: Running,
    at: { claim: SeenEvent; session: SessionMeta; traceparent: string },
  ): void {
    const { clock, tracer } = this.ports;
    const { session } = at.session;
    const service = entry.service.logic.name;
    const span = tracer.begin(spanNameOf(at.claim), {
      ...{ parent: at.traceparent, seed: entry.claim },
      attributes: () =>
        claimAttributes(at.claim, { session, service, note: this.noteOf(job.call) }),
    });
    // A job keeps its deadline by itself, and says so: this must not come first and look like a cancel.
    const waitMs = Math.max(0, job.deadlineAtMs - clock.nowMs()) + limits.effectOverrunMs;
    const cancelDeadline = clock.after(waitMs, () => this.expire(entry));
    const control = { signal: entry.abort.signal, traceparent: span.traceparent };
    job
      .run(control)
      .then((draft) => {
        if (draft === undefined || cutShort(entry, draft)) {
          span.end({ error: 'nobody saw how it ended' });
          this.lose(entry);
        } else {
          const { traceparent } = span;
          this.finish(entry, { session: at.session, traceparent, draft, span });
        }
      })
      .catch((thrown: unknown) => {
        // A job promises not to throw. If it does, nobody knows what happened: the claim is left to be declared lost.
        span.end({ error: toError(thrown).message });
        this.ports.logger.error(
          { call: job.call, error: toError(thrown).message },
          'effect broke its promise',
        );
        this.lose(entry);
      })
      .finally(cancelDeadline);
  }

  /** A job that does not even hear that it must stop is given up: it must not hold its session for ever. */
  private expire(entry: Running): void {
    entry.abort.abort('deadline');
    this.ports.clock.after(limits.claimGraceMs, () => {
      const waits = this.running.holds(entry) && entry.outcomeId === undefined;
      if (waits) this.lose(entry);
    });
  }

  /** Nobody saw how it ended: the owner decides what that means (DESIGN 5). */
  private lose(entry: Running): void {
    this.running.remove(entry);
    this.onLost(entry.session);
  }

  private finish(entry: Running, outcome: Outcome): void {
    const { session } = outcome;
    const data = { ...(outcome.draft.data as JsonObject), claim: entry.claim };
    const draft = { ...outcome.draft, data } as typeof outcome.draft;
    const body: InputBody = {
      kind: 'input',
      session: session.session,
      source: entry.service.logic.name,
      incarnation: this.identity.incarnation,
      atMs: this.ports.clock.nowMs(),
      tenant: session.tenant,
      principal: session.principal,
      labels: session.labels,
      event: sealEvent(saltOf(session.session), draft),
    };
    closeSpan(outcome, body.event);
    const id = outcomeId(entry.call, entry.claim);
    this.running.ends(entry, id);
    const records = [{ id, body, traceparent: outcome.traceparent }];
    persist(this.ports, {
      ...{ what: 'an outcome', fields: { call: entry.call, session: entry.session } },
      // Also when the partition was lost: nobody else knows it.
      wanted: () => this.running.holds(entry),
      push: ({ appended, refused }) =>
        this.writer.push({ records, onAppended: appended, onRefused: refused }),
      onHopeless: (error) => this.replace(entry, outcome, error),
    });
  }

  /** The effect happened, and what came of it fits into no record. */
  private replace(entry: Running, outcome: Outcome, error: AppendError): void {
    const code = error.refusal === 'too-large' ? 'OUTCOME_TOO_LARGE' : 'OUTCOME_INVALID';
    const fields = { call: entry.call, session: entry.session, error: error.message };
    this.ports.logger.error({ ...fields, code }, 'outcome refused for good');
    const failure = entry.job.unrecorded?.(outcome.draft, { code, message: error.message });
    if (failure === undefined || outcome.isReplacement === true) this.lose(entry);
    else {
      const { span: _ended, ...rest } = outcome;
      this.finish(entry, { ...rest, draft: failure, isReplacement: true });
    }
  }

  /** An outcome record was read back: the effect leaves the table. */
  readBack(recordId: string): void {
    const entry = this.running.ofOutcome(recordId);
    if (entry !== undefined) this.running.remove(entry);
  }

  /** After each fold: what the state no longer allows is told to stop. */
  cancelForbidden(session: string, stateOf: (service: string) => unknown): void {
    for (const entry of this.running.of(session)) {
      if (entry.outcomeId !== undefined) continue;
      const state = stateOf(entry.service.logic.name);
      if (state === undefined || entry.abort.signal.aborted) continue;
      if (entry.service.effects?.mayRun(state, entry.call) === false)
        entry.abort.abort('cancelled');
    }
  }

  /** Claimed calls of a service that nobody runs. Only the owner asks. */
  lostCalls(
    service: string,
    core: SessionCore,
    isGone: (incarnation: string) => boolean,
  ): Record<string, LostReason> {
    const lost: Record<string, LostReason> = {};
    const nowMs = this.ports.clock.nowMs();
    for (const [call, state] of Object.entries(core.calls)) {
      if (state.service !== service || state.status !== 'claimed') continue;
      const own = state.incarnation === this.identity.incarnation;
      if (own && this.running.has(call)) continue;
      if (own || ablated('9e') || isGone(state.incarnation)) lost[call] = 'runner-gone';
      else if (nowMs > state.deadlineAtMs + limits.claimGraceMs) lost[call] = 'deadline';
    }
    return lost;
  }

  /** For a host without rule 9: what runs is nobody's. */
  forget(): void {
    this.running.clear();
  }

  /** Effects that run, and have no outcome yet. */
  get unfinished(): number {
    return [...this.running.all()].filter((one) => one.outcomeId === undefined).length;
  }

  get size(): number {
    return this.running.size;
  }

  /**
   * Stop everything: the process ends. What ended well still goes out; what failed, failed because it was stopped, and
   * is left to the next owner, who knows whether it may be run again.
   */
  abortAll(): void {
    for (const entry of this.running.all()) entry.abort.abort(shutdown);
  }
}

/** The span says how the effect ended; one that failed says with which code. */
function closeSpan({ span, draft }: Outcome, event: EventRecord): void {
  const { code } = event.data as { code?: string };
  const failed = draft.type.endsWith('failed') ? { error: code ?? draft.type } : {};
  span?.end({ ...failed, attributes: () => outcomeAttributes(event) });
}

const shutdown = 'shutdown';

const cutShort = (entry: Running, { type }: Draft<InputEventType>): boolean =>
  entry.abort.signal.reason === shutdown && type.endsWith('.failed');
