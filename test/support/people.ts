import type { JsonValue } from '../../schemas/json.ts';
import { approvalsTopic } from '../../schemas/topics.ts';
import { type ApprovalDecision, publishDecision } from '../../services/client/approval.ts';
import { bodyOfRecord } from '../../services/client/record-body.ts';
import type { MemoryWorld } from './memory-world.ts';

/** A question as other systems read it on longrein.approvals. */
export type Request = Readonly<{
  session: string;
  approval: string;
  state: string;
  question?: string;
  choices?: readonly string[];
  to?: string;
  about?: string;
  dueAt?: string;
  decision?: string;
  answeredBy?: string;
}>;

type Said = Readonly<{
  decision?: ApprovalDecision['decision'];
  answer?: JsonValue;
  by?: string;
  reason?: string;
  id?: string;
}>;

/** The people of a simulated world: they see what is asked, and answer. */
export class People {
  private readonly world: MemoryWorld;
  private readonly log: ReturnType<MemoryWorld['connect']>;

  constructor(world: MemoryWorld) {
    this.world = world;
    this.log = world.connect('people');
  }

  /** All that stands on the topic of requests, in its order. */
  requests(): readonly Request[] {
    const partitions = [...this.world.cluster.topics.get(approvalsTopic).partitions.keys()];
    return partitions
      .flatMap((partition) => this.world.cluster.records({ topic: approvalsTopic, partition }))
      .filter(({ headers }) => headers['ce_type'] === 'longrein.approval-request.v1')
      .map((record) => bodyOfRecord(record) as Request);
  }

  /** Requests that wait, the newest of each approval. */
  open(): readonly Request[] {
    const newest = new Map(this.requests().map((one) => [one.approval, one]));
    return [...newest.values()].filter(({ state }) => state === 'open');
  }

  /** Lets the world go on until somebody is asked. */
  async asked(withinMs = 60_000): Promise<Request> {
    await this.world.clock.run(withinMs, () => this.open().length > 0);
    const [first] = this.open();
    if (first === undefined) throw new Error('nobody was asked');
    return first;
  }

  async answer(
    { session, approval }: Pick<Request, 'session' | 'approval'>,
    { decision = 'granted', answer, by = 'ann', reason, id }: Said = {},
  ): Promise<void> {
    const more = {
      ...(answer === undefined ? {} : { answer }),
      ...(reason === undefined ? {} : { reason }),
    };
    const given = { session, approval, decision, decidedBy: by, ...more };
    const options = id === undefined ? {} : { id };
    await this.world.during(publishDecision(this.log, given, options));
  }
}
