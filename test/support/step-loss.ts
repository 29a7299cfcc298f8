import type { JudgedSession } from '../../replay-tools/read/session.ts';
import type { SeenEvent } from '../../schemas/event.ts';
import { addressOf } from '../../services/chassis/protocol/service-logic.ts';

/**
 * `agent_step_loss_after_deploy`, from the log alone. A step is a call of a model or a tool, or a decision. It is lost
 * where nobody can say how it ended, and repeated where it was begun again though it had not failed.
 */
export type StepLoss = Readonly<{
  steps: number;
  /** Calls that were declared unknown, or that a closed session never heard of again. */
  lost: readonly string[];
  /** Calls that were claimed again without an outcome, and decisions that did not count and had to be taken again. */
  repeated: readonly string[];
}>;

const isClaim = ({ type }: SeenEvent): boolean => type.endsWith('.claimed');
const isOutcome = ({ type }: SeenEvent): boolean => /^(tool|model)\.(completed|failed)$/.test(type);
const callOf = ({ data }: SeenEvent): string => String((data as { call?: string }).call);

export function stepLossOf({ records, core }: JudgedSession): StepLoss {
  const open = new Map<string, string>();
  const lost: string[] = [];
  const repeated: string[] = [];
  let steps = 0;
  for (const { record, verdict, step } of records) {
    if (record.header.kind === 'turn') {
      steps += 1;
      if (verdict === 'void') repeated.push(`turn ${record.header.id}`);
    }
    for (const event of step?.events ?? []) {
      const call = callOf(event);
      if (isClaim(event)) {
        steps += 1;
        if (open.has(call)) repeated.push(`call ${call}`);
        open.set(call, addressOf(event));
      } else if (isOutcome(event)) open.delete(call);
      else if (event.type === 'tool.unknown') lost.push(`call ${call}`);
    }
  }
  if (core.status === 'closed') lost.push(...[...open.keys()].map((call) => `call ${call}`));
  return { steps, lost, repeated };
}
