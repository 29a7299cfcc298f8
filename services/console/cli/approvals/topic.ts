/** The topic of approvals: what waits for a person, and what became of what waited. */
import { readPartition } from '../../../../replay-tools/read/partition-reader.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { approvalsTopic } from '../../../../schemas/topics.ts';
import type { LogPort, LogRecord } from '../../../chassis/log/port.ts';
import { nearest } from '../../../chassis/words/nearest.ts';
import { boundsOf } from '../../../client/publish.ts';
import { bodyOfRecord } from '../../../client/record-body.ts';
import { UsageError } from '../exit-code.ts';

/** As in schemas/public/approval-request.v1.json; `askedAt` is when it was asked first. */
export interface ApprovalRequest {
  readonly session: string;
  readonly approval: string;
  readonly state: 'open' | 'answered' | 'default' | 'timed-out' | 'withdrawn';
  readonly question?: string;
  readonly choices?: readonly string[];
  readonly about?: string;
  readonly to?: string;
  readonly dueAt?: string;
  readonly decision?: string;
  readonly answeredBy?: string;
  readonly task: string;
  readonly agent: string;
  readonly tenant?: JsonValue;
  readonly at: string;
  readonly askedAt: string;
}

const requestType = 'longrein.approval-request.v1';

/** The newest word on each request, over what was said of it before; oldest first. What is no request is passed over. */
export function requestsIn(records: readonly LogRecord[]): readonly ApprovalRequest[] {
  const found = new Map<string, ApprovalRequest>();
  for (const record of records) {
    if (record.headers['ce_type'] !== requestType) continue;
    const body = bodyOfRecord(record);
    if (typeof body !== 'object' || body === null || !('approval' in body)) continue;
    const said = body as Omit<ApprovalRequest, 'askedAt'>;
    const before = found.get(said.approval);
    found.set(said.approval, { ...before, ...said, askedAt: before?.askedAt ?? said.at });
  }
  const requests = [...found.values()];
  return requests.sort((one, other) =>
    one.askedAt < other.askedAt ? -1 : one.askedAt > other.askedAt ? 1 : 0,
  );
}

/** Reads them all. Throws STACK_EMPTY. */
export async function readRequests(log: LogPort): Promise<readonly ApprovalRequest[]> {
  const records: LogRecord[] = [];
  for (const [partition, bounds] of await boundsOf(log, approvalsTopic)) {
    const at = { topic: approvalsTopic, partition };
    for await (const record of readPartition(log, at, bounds)) records.push(record);
  }
  return requestsIn(records);
}

function ended({ approval, state, answeredBy }: ApprovalRequest): UsageError {
  const by = answeredBy === undefined ? '' : ` by ${answeredBy}`;
  const withdrawn = state === 'withdrawn' ? 'was withdrawn' : 'ran out of time';
  const what = state === 'answered' ? `was answered${by}` : withdrawn;
  return new UsageError(`${approval} ${what}`, 'See what waits: longrein approvals list');
}

/**
 * The request that an id, or the start of one, names and that waits. Throws UsageError: with the nearest where there is
 * none, or with what became of it.
 */
export function openRequest(requests: readonly ApprovalRequest[], name: string): ApprovalRequest {
  // Of a child session the id of the question stands behind that of the session.
  const found = requests.filter(({ approval }) =>
    [approval, approval.replace(/^.*\//, '')].some(
      (id) => id.startsWith(name) || id.startsWith(`call_${name}`),
    ),
  );
  const [first] = found;
  if (first !== undefined && found.length === 1) {
    if (first.state !== 'open') throw ended(first);
    return first;
  }
  if (found.length > 1) {
    const some = found.slice(0, 5).map(({ approval }) => approval);
    const message = `"${name}" begins ${found.length} approvals: ${some.join(', ')}`;
    throw new UsageError(message, 'Give more of the id.');
  }
  const near = nearest(
    name,
    requests.map(({ approval }) => approval),
  );
  const fix =
    near === undefined ? 'See what waits: longrein approvals list' : `Did you mean ${near}?`;
  throw new UsageError(`there is no approval "${name}"`, fix);
}
