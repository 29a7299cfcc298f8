import { randomUUID } from 'node:crypto';
import type { JsonValue } from '../../schemas/json.ts';
import { approvalsTopic } from '../../schemas/topics.ts';
import type { LogPort } from '../chassis/log/port.ts';
import { type Published, publish } from './publish.ts';

/** What a person answered to a question that waits for them, as in schemas/public/approval-decision.v1.json. */
export type ApprovalDecision = Readonly<{
  session: string;
  /** The id of the request that is answered. */
  approval: string;
  /** `answered` needs an `answer`; the others may have one. */
  decision: 'granted' | 'denied' | 'answered';
  decidedBy: string;
  /** One of the choices, where the question has some. */
  answer?: JsonValue;
  /** Of the arguments that the person saw. */
  argumentsHash?: string;
  reason?: string;
}>;

/** `id` makes a repeat harmless. */
export type ApprovalOptions = Readonly<{ id?: string }>;

/** Writes the decision to the approvals topic. */
export function publishDecision(
  log: LogPort,
  decision: ApprovalDecision,
  { id = randomUUID() }: ApprovalOptions = {},
): Promise<Published> {
  const headers = { ce_specversion: '1.0', ce_id: id, ce_type: 'longrein.approval-decision.v1' };
  return publish(log, approvalsTopic, { key: decision.session, headers, body: decision });
}
