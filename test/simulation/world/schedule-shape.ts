import type { JsonObject } from '../../../schemas/json.ts';
import type { Release } from './releases.ts';
import type { StrangeKind } from './strange-records.ts';

/**
 * What happens in one run, as data: from a seed, but a schedule with parts left out runs as well.
 * `victim` in [0, 1) chooses among the hosts that are up when its time has come.
 */

export type Action = Readonly<{ atMs: number }> &
  /** `kills`: the service that dies when it decides something in the goal's session. */
  (
    | Readonly<{ do: 'send'; value: JsonObject; goalId: string; kind: string; kills?: string }>
    | Readonly<{ do: 'start'; services: readonly string[]; skewMs: number; release?: Release }>
    | Readonly<{ do: 'crash'; victim: number }>
    /** Dies when so many more requests went out, or answers, records and timers came: at any await. */
    | Readonly<{ do: 'crash-anywhere'; victim: number; passes: number }>
    /** Dies right after its next write to another log, before its own log knows of it. */
    | Readonly<{ do: 'crash-delivering'; victim: number; afterMs: number }>
    /** Dies a little after its next appends to a session log: before, between or after the acknowledgement. */
    | Readonly<{ do: 'crash-appending'; victim: number; appends: number; afterMs: number }>
    | Readonly<{ do: 'stop'; victim: number }>
    /** Loses its place in its groups without knowing; `deafMs`: what it reads comes that late. */
    | Readonly<{ do: 'expel'; victim: number; forMs: number; deafMs: number; dies: boolean }>
    /** Stands still as under SIGSTOP; its groups give it up if that takes too long. */
    | Readonly<{ do: 'freeze'; victim: number; forMs: number }>
    /** So does the next host that runs an effect that must not run twice, until somebody counts the effect as lost. */
    | Readonly<{ do: 'freeze-running'; forMs: number }>
    | Readonly<{ do: 'deafen'; victim: number; forMs: number }>
    | Readonly<{ do: 'silence'; victim: number; forMs: number }>
    | Readonly<{ do: 'rebalance'; victim: number }>
    | Readonly<{ do: 'checkpoint'; victim: number }>
    /** Writes its marks and commits its offsets, due or not. */
    | Readonly<{ do: 'commit'; victim: number }>
    /** The wall clock of its machine is set, forward or back. */
    | Readonly<{ do: 'jump'; victim: number; byMs: number }>
    | Readonly<{ do: 'broker-away'; forMs: number }>
    | Readonly<{ do: 'blobs-away'; forMs: number }>
    /** Records of a partition come again, as requests that were long under way. `where` in [0, 1) chooses it. */
    | Readonly<{ do: 'echo'; where: number; count: number }>
    /** A record of another program, or one with our headers that nobody can read. */
    | Readonly<{ do: 'strange'; where: number; kind: StrangeKind }>
    /** The goal is cancelled in the moment in which an answer for it is on its way; `failed`: only one that failed. */
    | Readonly<{ do: 'race'; goalId: string; failed?: boolean }>
    /** The goal is cancelled while the rejection of its plan is on its way, and that arrives between cancel and answer. */
    | Readonly<{ do: 'cancel-rejected'; goalId: string }>
    /** When the session of the goal ends, all that it was told comes again. */
    | Readonly<{ do: 'after-end'; goalId: string; value: JsonObject }>
    | Readonly<{ do: 'compare'; victim: number }>
    /** A record is missing in what it reads next; it is started anew after a while. */
    | Readonly<{ do: 'lose-record'; victim: number; forMs: number }>
  );

/** Rates of faults of single appends. */
export type AppendRates = Readonly<{
  lost: number;
  lostAck: number;
  delayed: number;
  late: number;
  refused: number;
}>;

export type Schedule = Readonly<{
  seed: number;
  partitions: number;
  housekeepingMs: number;
  /** After how long a group gives up a member that crashed or stands still. */
  sessionTimeoutMs: number;
  latencyMs: number;
  rates: AppendRates;
  /** Share of tool and model calls that go wrong before the calm. */
  trouble: number;
  actions: readonly Action[];
  /** From here on nothing goes wrong any more, and everything must end. */
  calmAtMs: number;
  /** Whether a fresh host of all services comes with the calm. */
  freshHost: boolean;
  /** Answers of tools and models arrive at whole multiples of this: many in one millisecond. 0 or none: they do not. */
  burstMs?: number;
  /** Whether there are event stores, over one table. */
  store?: boolean;
  /** Share of sessions of which the broker takes one record never. */
  hopeless?: number;
  /** Share of requests with nothing but inputs or results that are not allowed just then. */
  denied?: number;
  /** Janitors delete what is older than this and needed by nobody. */
  retentionMs?: number;
}>;
