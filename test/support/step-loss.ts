import {
  isPlaced,
  type JudgedRecord,
  type JudgedSession,
} from '../../replay-tools/read/session.ts';
import type { SeenEvent } from '../../schemas/event.ts';
import type { TurnBody } from '../../services/chassis/protocol/record.ts';

/**
 * `agent_step_loss_after_deploy`, from the log alone: `lost` and `repeated`. A step is a decision, or a call of a model
 * or a tool.
 */
export type StepLoss = Readonly<{
  steps: number;
  /** Calls that nobody knows the end of, and decisions that nobody took again where they did not count. */
  lost: readonly string[];
  /** Calls that were begun again though they had not failed. */
  repeated: readonly string[];
  /**
   * Decisions that were on their way to the log when the next owner had it already, and that this one took from the same
   * log. Nothing was done for the first: no loss, but a hand-over that crossed a request.
   */
  decidedAgain: number;
}>;

const isClaim = ({ type }: SeenEvent): boolean => type.endsWith('.claimed');
const isOutcome = ({ type }: SeenEvent): boolean =>
  /^(tool|model)\.(completed|failed|denied)$/.test(type);
const callOf = ({ data }: SeenEvent): string => `call ${String((data as { call?: string }).call)}`;

function callLoss({ records, core }: JudgedSession): Omit<StepLoss, 'decidedAgain'> {
  const open = new Set<string>();
  const lost: string[] = [];
  const repeated: string[] = [];
  let steps = 0;
  for (const event of records.flatMap(({ step }) => step?.events ?? [])) {
    const call = callOf(event);
    if (isClaim(event)) {
      steps += 1;
      if (open.has(call)) repeated.push(call);
      open.add(call);
    } else if (isOutcome(event)) open.delete(call);
    else if (event.type === 'tool.unknown') lost.push(call);
  }
  if (core.status === 'closed') lost.push(...open);
  return { steps, lost, repeated };
}

type Turn = Readonly<{ id: string; body: TurnBody; verdict: JudgedRecord['verdict'] }>;

function turnsOf({ records }: JudgedSession): readonly Turn[] {
  return records.flatMap(({ record, verdict }) =>
    isPlaced(record) && record.body.kind === 'turn'
      ? [{ id: record.header.id, body: record.body, verdict }]
      : [],
  );
}

export function stepLossOf(judged: JudgedSession): StepLoss {
  const calls = callLoss(judged);
  const turns = turnsOf(judged);
  const counted = turns.filter(({ verdict }) => verdict === 'effective');
  const isTakenAgain = ({ body }: Turn): boolean =>
    counted.some(
      (one) =>
        one.body.service === body.service &&
        one.body.epoch > body.epoch &&
        one.body.baseOffset >= body.baseOffset,
    );
  const unheard = turns.filter(({ verdict }) => verdict === 'void');
  const gone = unheard.filter((turn) => !isTakenAgain(turn));
  return {
    steps: calls.steps + turns.length,
    lost: [...calls.lost, ...gone.map(({ id }) => `turn ${id}`)],
    repeated: calls.repeated,
    decidedAgain: unheard.length - gone.length,
  };
}
