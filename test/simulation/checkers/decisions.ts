import { decideEntry } from '../../../services/chassis/protocol/decision.ts';
import { canonical } from '../../../services/chassis/protocol/hash.ts';
import type { TurnBody } from '../../../services/chassis/protocol/record.ts';
import type { ServiceEntry } from '../../../services/chassis/protocol/service-fold.ts';
import { type AnyLogic, addressOf } from '../../../services/chassis/protocol/service-logic.ts';
import { buildTurn, factsOf, type SealedTurn } from '../../../services/chassis/protocol/turn.ts';

/** `base`: the view of a service at the base of its turn; `entry`: the same with what the turn foresaw. */
export type Seen = Readonly<{ base: ServiceEntry; entry: ServiceEntry }>;

/** Decides a recorded turn again, from what its service knew (`seen`) and from its own facts. */
export function decideAgain(
  logic: AnyLogic,
  { base, entry: seen }: Seen,
  turn: TurnBody,
): SealedTurn {
  const listed = new Set(turn.causes.map(addressOf));
  const causes = seen.causes.filter(({ event }) => listed.has(addressOf(event)));
  const { root: _own, ...view } = seen;
  const entry = { ...view, causes, ...(turn.root === undefined ? {} : { root: turn.root }) };
  const facts = factsOf(turn);
  const { epoch, incarnation, release } = turn;
  return buildTurn(logic, entry, {
    ...{ facts, foreseen: turn.foreseen, author: { epoch, incarnation, release } },
    base: base.core.last,
    drafts: decideEntry(logic, entry, facts),
  });
}

/** The first member in which two turns differ, for people. */
export function differenceOf(expected: TurnBody, actual: TurnBody): string {
  const names = Object.keys({ ...expected, ...actual }) as (keyof TurnBody)[];
  const name = names.find((one) => canonical(expected[one]) !== canonical(actual[one]));
  if (name === undefined) return 'only the id differs';
  const show = (body: TurnBody): string => canonical(body[name]).slice(0, 600);
  return `${name}: the log has ${show(actual)}, decided again ${show(expected)}`;
}
