import { limits } from '../../../schemas/limits.ts';
import { createFixedCodec } from '../../../services/chassis/log/codec.ts';
import type { TurnBody } from '../../../services/chassis/protocol/record.ts';
import type { Run } from '../world/run-outcome.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'a call is lost only when its runner is gone, or its own host does not run it';

const codec = createFixedCodec();

/** Who hears itself has heard all that was said so long before: heartbeats are read in order. */
const heardAfterMs = limits.presenceMs / 2 + 500;

/** Incarnation -> times of its heartbeats. Those of an instance that ended are left out. */
function beatsOf({ presence }: Run): Map<string, number[]> {
  const beats = new Map<string, number[]>();
  for (const { value, timestampMs } of presence) {
    if (value === null) continue;
    const beat = codec.decode(value).body as { incarnation: string; ended?: true };
    if (beat.ended === true) beats.delete(beat.incarnation);
    else beats.set(beat.incarnation, [...(beats.get(beat.incarnation) ?? []), timestampMs]);
  }
  return beats;
}

type Declared = Readonly<{
  turn: TurnBody;
  call: string;
  claimer: string;
  claim: string;
  atMs: number;
}>;

/** Every call that a decision took for lost because its runner was gone. */
function declared({ history, witness }: Run): Declared[] {
  return [...history.turns()].flatMap(({ line, seen }) => {
    const turn = line.body as TurnBody;
    const deed = witness.decided.get(line.header.id);
    return Object.entries(turn.facts.data.lost ?? {}).flatMap(([call, because]) => {
      const open = seen?.base.core.calls[call];
      if (because !== 'runner-gone' || open === undefined || deed === undefined) return [];
      const { incarnation: claimer, claim } = open;
      return [{ turn, call, claimer, claim, atMs: deed.atMs }];
    });
  });
}

export const claimsLost: Checker = (run) => {
  const jumps = run.schedule.actions.some((one) => one.do === 'jump');
  // Silence is measured by the clock of who listens: where that is set, it says nothing.
  const beats = jumps ? new Map<string, number[]>() : beatsOf(run);
  return declared(run).flatMap(({ turn, call, claimer, claim, atMs }): Violation[] => {
    const where = `${call} of ${turn.session}, said by ${turn.service}`;
    if (claimer === turn.incarnation) {
      const runs = run.witness.effects.some(
        (one) => one.claim === claim && one.atMs < atMs && (one.toMs ?? Infinity) > atMs,
      );
      return runs ? [{ rule, detail: `${where}: its own host runs it` }] : [];
    }
    const heard = (beats.get(claimer) ?? []).find(
      (beatMs) => beatMs > atMs - limits.presenceMs && beatMs < atMs - heardAfterMs,
    );
    if (heard === undefined) return [];
    return [
      { rule, detail: `${where}: ${claimer} was heard ${Math.round(atMs - heard)} ms before` },
    ];
  });
};
