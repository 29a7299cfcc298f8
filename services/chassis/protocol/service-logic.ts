import type { Draft, EventAddress, InputEventType, SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { Language } from './language.ts';

/** What a session keeps from its opening for ever. */
export type SessionMeta = Readonly<{
  session: string;
  tenant: string;
  principal: string;
  labels: Readonly<Record<string, string>>;
}>;

/** A call that somebody claimed and whose outcome is not in the log yet (or was declared unknown). */
export type OpenCall = Readonly<{
  status: 'claimed' | 'unknown';
  service: string;
  /** Address of the newest claim, as `record#index`: the claim's id. */
  claim: string;
  incarnation: string;
  attempt: number;
  deadlineAtMs: number;
}>;

/** Why a claimed call has no runner any more. A fact: it comes from outside the log. */
export type LostReason = 'runner-gone' | 'deadline';

/**
 * All that a decision may look at besides its state. `facts` are from outside the log and recorded in the turn;
 * `attachments` are facts that are content (recorded as digest and body).
 */
export type DecideInput<F extends JsonObject = JsonObject> = Readonly<{
  session: SessionMeta;
  /** Never earlier than the newest record that the state has seen, in milliseconds since 1970. */
  nowMs: number;
  facts: F;
  attachments: Readonly<Record<string, JsonValue>>;
  /** Events since this service's last turn that it answers to. For information: decide from the state. */
  causes: readonly SeenEvent[];
  /** Open calls of the session by call id. */
  openCalls: Readonly<Record<string, OpenCall>>;
  /** Claimed calls of this service that nobody runs, by call id. */
  lost: Readonly<Record<string, LostReason>>;
}>;

/** A write to another log that follows from an effective event; repeated after a restart with the same bytes. */
export type Delivery =
  | Readonly<{
      to: 'log';
      topic: string;
      /** Id of the session (or goal log, key log) that gets the input. */
      session: string;
      /** Makes the input's id, with the target session: same parts, same input. */
      identity: readonly string[];
      event: Draft<InputEventType>;
      /** Whose log gets it, where that is not the tenant of the log that it comes from. */
      tenant?: string;
    }>
  | Readonly<{
      to: 'public';
      topic: string;
      key: string;
      /** CloudEvents type and id of the message. */
      type: string;
      id: string;
      value: JsonObject;
    }>;

/**
 * One service as pure functions. Everything here is deterministic: no clock, random, environment or I/O.
 *
 * S1 `evolve` returns the same object when the event changes nothing.
 * S2 `decide` is level-triggered: it proposes what the state says is due and not yet done. Deciding again
 *    after its own proposal was folded proposes nothing.
 * S3 The state is plain JSON.
 */
export type ServiceLogic<S, F extends JsonObject = JsonObject> = Readonly<{
  name: string;
  /** Version of what `decide` does; goes into every turn. */
  behaviour: number;
  /** Version of the state's shape. */
  fold: number;
  /** Version of the shape that checkpoints are written in: one that the previous release reads. Default: `fold`. */
  foldWritten?: number;
  /** The state in the shape of `foldWritten`. `upcastState` of it must decide the same. */
  downcastState?(state: S): JsonValue;
  /** Other versions of the state's shape that `upcastState` reads. */
  foldsReadable?: readonly number[];
  upcastState?(state: JsonValue, fromFold: number): S;
  /** Which events it understands, if not those of this release. */
  language?: Language;
  /** Ids and definition hashes of the machines in the state. */
  machines: Readonly<Record<string, string>>;
  initial(): S;
  evolve(state: S, event: SeenEvent): S;
  /**
   * Whether this event can make something due for this service. Own events are never causes, except that an own
   * delivery was acknowledged.
   */
  answers(event: SeenEvent): boolean;
  decide(state: S, input: DecideInput<F>): readonly Draft[];
  /**
   * What is still decided once a decision of this service failed in the session: only what nobody else can say. The state
   * may lack what led to the failure, and this must not lean on what failed.
   */
  decideAfterFailure?(state: S, input: DecideInput<F>): readonly Draft[];
  deliveries?(event: SeenEvent, session: SessionMeta): readonly Delivery[];
}>;

/** A logic whose state type is nobody's business but its own. */
export type AnyLogic = ServiceLogic<unknown, JsonObject>;

/** `record#index`, the text form of an address. */
export const addressOf = (at: EventAddress): string => `${at.record}#${at.index}`;
