import { approvalsTopic } from '../../schemas/topics.ts';
import type { LogPort } from '../chassis/log/port.ts';
import { type Published, publish } from './publish.ts';

/** What a person decided about one tool call, as in schemas/public/approval-decision.v1.json. */
export type ApprovalDecision = Readonly<{
  session: string;
  /** The id of the request that is answered. */
  approval: string;
  decision: 'granted' | 'denied';
  decidedBy: string;
  /** Of the arguments that the person saw. */
  argumentsHash?: string;
  reason?: string;
}>;

/** Writes the decision to the approvals topic. */
export function publishDecision(log: LogPort, decision: ApprovalDecision): Promise<Published> {
  const headers = { ce_specversion: '1.0', ce_type: 'longrein.approval-decision.v1' };
  return publish(log, approvalsTopic, { key: decision.session, headers, body: decision });
}
